#pragma once
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <fleet/core/error.hpp>
#include <fleet/job/environment.hpp>
#include <fleet/job/meeting.hpp>
#include <fleet/job/role.hpp>
#include <fleet/job/role_checks.hpp>

namespace fleet {

inline bool has_slurm_role(Environment const& environment) {
  return environment.has("SLURM_PROCID") &&
         (environment.has("SLURM_NTASKS") || environment.has("SLURM_STEP_NUM_TASKS"));
}

namespace detail {

/// The first host of a list like "login,gpu[07-12,20],big1": a plain name, or the head of its first bracket.
inline std::string first_host(std::string_view list) {
  auto const end = list.find_first_of(",[");
  std::string host{list.substr(0, end)};
  if (end == std::string_view::npos || list[end] == ',') return host;
  auto const number = list.substr(end + 1, list.find_first_of(",-]", end + 1) - end - 1);
  auto const close = list.find(']', end);
  auto const rest = close == std::string_view::npos ? std::string_view{} : list.substr(close + 1);
  host += number;
  return host += rest.substr(0, rest.find(','));
}

/// The number of tasks on the `node`-th host, of a text like "2(x3),1"; none where it does not say.
inline std::optional<int> tasks_on_node(std::string_view tasks, int node) {
  while (!tasks.empty()) {
    int count = 0, hosts = 1;
    auto const entry = tasks.substr(0, tasks.find(','));
    std::from_chars(entry.data(), entry.data() + entry.size(), count);
    if (auto const times = entry.find("(x"); times != std::string_view::npos)
      std::from_chars(entry.data() + times + 2, entry.data() + entry.size(), hosts);
    if (node < hosts) return count > 0 ? std::optional{count} : std::nullopt;
    node -= hosts;
    tasks.remove_prefix(entry.size() == tasks.size() ? entry.size() : entry.size() + 1);
  }
  return std::nullopt;
}

/// The same port on every host, another one for most other jobs: 15000 to 29999.
inline int port_of_job(std::string_view job, std::string_view step) {
  std::uint32_t mixed = 2166136261;  // FNV-1a
  for (auto const part : {job, std::string_view{"."}, step})
    for (char const letter : part) mixed = (mixed ^ static_cast<unsigned char>(letter)) * 16777619;
  return 15000 + static_cast<int>(mixed % 15000);
}

}  // namespace detail

/// The role that Slurm's srun gives. On several hosts the store is on the first one, at a port that follows from the
/// job's number, and FLEET_JOB_TOKEN holds the secret. Throws ConfigurationError.
inline Role slurm_role(Environment const& environment) {
  auto const first_of = [&](auto const&... names) {
    std::optional<std::string> found;
    ((found = found ? found : environment.get(names)), ...);
    return found;
  };
  Role role;
  role.source = "Slurm";
  bool const step_tells = environment.has("SLURM_STEP_NUM_TASKS");
  char const* const number = step_tells ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS";
  role.index = *environment.integer("SLURM_PROCID");
  role.worker_num = *environment.integer(number);
  auto const nodes = first_of("SLURM_STEP_NUM_NODES", "SLURM_NNODES", "SLURM_JOB_NUM_NODES");
  auto const list = first_of("SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST").value_or("");
  bool const one_host = nodes ? *nodes == "1" : list.find_first_of(",[") == std::string::npos;
  auto const on_node = detail::tasks_on_node(first_of("SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE").value_or(""),
                                             environment.integer("SLURM_NODEID").value_or(0));
  role.local_index = environment.integer("SLURM_LOCALID").value_or(one_host ? role.index : 0);
  role.local_num = one_host ? role.worker_num : on_node.value_or(role.local_index + 1);
  check_role(role, {"SLURM_PROCID", number, "SLURM_LOCALID", "SLURM_TASKS_PER_NODE", ""});

  auto const job = first_of("SLURM_JOB_ID", "SLURM_JOBID").value_or(""), step = first_of("SLURM_STEP_ID").value_or("");
  role.job_id = text(job, ".", step);
  auto const host = detail::first_host(list);
  arrange_meeting(role, environment, one_host, text("Slurm ", role.job_id),
                  host.empty() ? "" : text(host, ":", detail::port_of_job(job, step)));
  return role;
}

}  // namespace fleet
