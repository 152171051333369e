#pragma once
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <fleet/core/error.hpp>
#include <fleet/job/environment.hpp>
#include <fleet/job/role.hpp>

namespace fleet {

/// How the parts of a role are called where it comes from, so that an error speaks of what the user can change.
struct RoleNames {
  char const* index = "Role::index";
  char const* worker_num = "Role::worker_num";
  char const* local_index = "Role::local_index";
  char const* local_num = "Role::local_num";
  char const* worker_endpoints = "Role::worker_endpoints";
};

/// The entries of a comma-separated list; empty for an empty text.
inline std::vector<std::string> comma_list(std::string_view list) {
  std::vector<std::string> entries;
  while (!list.empty()) {
    auto const end = std::min(list.find(','), list.size());
    entries.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return entries;
}

/// Throws ConfigurationError, with names and values, for a role that contradicts itself.
inline void check_role(Role const& role, RoleNames const& names = {}) {
  if (role.worker_num < 1)
    throw ConfigurationError(text("fleet: ", names.worker_num, "=", role.worker_num, ": a job has at least 1 worker"));
  if (role.is_server) {
    if (role.index < 0 || static_cast<std::size_t>(role.index) >= role.server_endpoints.size())
      throw ConfigurationError(text("fleet: ", names.index, "=", role.index, " does not fit the ",
                                    role.server_endpoints.size(), " servers of the job"));
    return;
  }
  if (role.index < 0 || role.index >= role.worker_num)
    throw ConfigurationError(text("fleet: ", names.index, "=", role.index, " contradicts ", names.worker_num, "=",
                                  role.worker_num, ": ranks go from 0 to ", role.worker_num - 1,
                                  "; start every worker with the same number of workers and a rank of its own"));
  if (!role.worker_endpoints.empty() && role.worker_endpoints.size() != static_cast<std::size_t>(role.worker_num))
    throw ConfigurationError(text("fleet: ", names.worker_endpoints, " lists ", role.worker_endpoints.size(),
                                  " endpoints, but ", names.worker_num, "=", role.worker_num,
                                  "; give one endpoint for each worker"));
  if (role.local_num < 1 || role.local_index < 0 || role.local_index >= role.local_num)
    throw ConfigurationError(text("fleet: ", names.local_index, "=", role.local_index, " contradicts ", names.local_num,
                                  "=", role.local_num, ": on a host they go from 0 to ", role.local_num - 1));
  if (role.local_num > role.worker_num)
    throw ConfigurationError(text("fleet: ", names.local_num, "=", role.local_num, " on this host contradicts ",
                                  names.worker_num, "=", role.worker_num, " in the whole job"));
}

}  // namespace fleet
