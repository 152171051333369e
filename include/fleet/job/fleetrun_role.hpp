#pragma once
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <fleet/core/error.hpp>
#include <fleet/job/environment.hpp>
#include <fleet/job/meeting.hpp>
#include <fleet/job/role.hpp>
#include <fleet/job/role_checks.hpp>

namespace fleet {

inline bool has_fleetrun_role(Environment const& environment) {
  return environment.has("PADDLE_TRAINER_ID") || environment.has("PADDLE_TRAINERS_NUM") ||
         environment.has("PADDLE_TRAINER_ENDPOINTS") || environment.has("PADDLE_PSERVERS_IP_PORT_LIST");
}

namespace detail {

inline std::string host_of(std::string const& endpoint) { return endpoint.substr(0, endpoint.rfind(':')); }

/// TRAINER or PSERVER, by either of two names.
inline bool server_training_role(Environment const& environment) {
  for (char const* name : {"TRAINING_ROLE", "PADDLE_TRAINING_ROLE"})
    if (auto const value = environment.get(name)) {
      if (*value != "TRAINER" && *value != "PSERVER")
        throw ConfigurationError(text("fleet: ", name, "=", *value, " is none of TRAINER and PSERVER"));
      return *value == "PSERVER";
    }
  if (environment.has("PADDLE_PSERVERS_IP_PORT_LIST"))
    throw ConfigurationError(
        "fleet: PADDLE_PSERVERS_IP_PORT_LIST is set but TRAINING_ROLE is not; it says whether this "
        "process is a TRAINER or a PSERVER");
  return false;
}

/// The place of POD_IP:PADDLE_PORT in the list of servers.
inline int server_place(Environment const& environment, std::vector<std::string> const& servers) {
  auto const own = environment.require("POD_IP", "the address of this server") + ":" +
                   environment.require("PADDLE_PORT", "the port of this server");
  auto const found = std::find(servers.begin(), servers.end(), own);
  if (found == servers.end())
    throw ConfigurationError(text("fleet: POD_IP:PADDLE_PORT=", own, " is not in PADDLE_PSERVERS_IP_PORT_LIST=",
                                  environment.get("PADDLE_PSERVERS_IP_PORT_LIST").value_or("")));
  return static_cast<int>(found - servers.begin());
}

/// Place and number on this host: as fleetrun tells, else counted from the endpoints; without either all are here.
inline void find_local_place(Role& role, Environment const& environment) {
  auto const& all = role.worker_endpoints;
  auto const own = static_cast<std::size_t>(role.index);
  if (own < all.size()) {
    auto const same_host = [&](auto const& endpoint) { return host_of(endpoint) == host_of(all[own]); };
    auto const place = all.begin() + static_cast<std::ptrdiff_t>(own);
    role.local_index = static_cast<int>(std::count_if(all.begin(), place, same_host));
    role.local_num = static_cast<int>(std::count_if(all.begin(), all.end(), same_host));
  } else {
    role.local_index = role.index;
    role.local_num = role.worker_num;
  }
  role.local_index = environment.integer("FLEET_LOCAL_RANK").value_or(role.local_index);
  role.local_num = environment.integer("FLEET_LOCAL_SIZE", 1).value_or(role.local_num);
}

}  // namespace detail

/// The role that fleetrun, or a cluster that speaks its language, gives by the PADDLE_* variables.
/// Throws ConfigurationError for values that are missing, malformed or contradict each other.
inline Role fleetrun_role(Environment const& environment) {
  Role role;
  role.source = "fleetrun";
  role.worker_endpoints = comma_list(environment.get("PADDLE_TRAINER_ENDPOINTS").value_or(""));
  role.server_endpoints = comma_list(environment.get("PADDLE_PSERVERS_IP_PORT_LIST").value_or(""));
  role.is_server = detail::server_training_role(environment);
  auto const listed = static_cast<int>(role.worker_endpoints.size());
  auto const number = environment.integer("PADDLE_TRAINERS_NUM", 1);
  if (!number && listed == 0)
    throw ConfigurationError(
        "fleet: PADDLE_TRAINER_ID is set, but neither PADDLE_TRAINERS_NUM nor "
        "PADDLE_TRAINER_ENDPOINTS says how many workers there are; start with fleetrun, which sets "
        "all of them, or unset PADDLE_TRAINER_ID");
  role.worker_num = number.value_or(listed);
  role.job_id = environment.get("SYS_JOB_ID").value_or("");
  if (role.is_server) {
    role.index = detail::server_place(environment, role.server_endpoints);
  } else {
    auto const index = environment.integer("PADDLE_TRAINER_ID");
    if (!index && role.worker_num > 1)
      throw ConfigurationError(text("fleet: PADDLE_TRAINER_ID is not set, but the job has ", role.worker_num,
                                    " workers (PADDLE_TRAINERS_NUM); give each worker its rank"));
    role.index = index.value_or(0);
    detail::find_local_place(role, environment);
  }
  check_role(role, {"PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM", "FLEET_LOCAL_RANK", "FLEET_LOCAL_SIZE",
                    "PADDLE_TRAINER_ENDPOINTS"});
  if (auto const own = environment.get("PADDLE_CURRENT_ENDPOINT"); own && listed != 0 && !role.is_server)
    if (auto const& expected = role.worker_endpoints[static_cast<std::size_t>(role.index)]; *own != expected)
      throw ConfigurationError(text("fleet: PADDLE_CURRENT_ENDPOINT=", *own, " contradicts entry ", role.index,
                                    " of PADDLE_TRAINER_ENDPOINTS, ", expected, " (PADDLE_TRAINER_ID=", role.index,
                                    ")"));

  if (auto const store = environment.get("PADDLE_GLOO_HTTP_ENDPOINT"); store && role.worker_num > 1) {
    role.store = *store;
    role.store_is_running = true;
    role.token = environment.require("FLEET_JOB_TOKEN", "the job's secret, which fleetrun makes");
  } else {
    bool const one_host = role.local_num == role.worker_num && !role.is_server;
    auto const key = text("fleetrun ", role.job_id, " ", environment.get("PADDLE_TRAINER_ENDPOINTS").value_or(""));
    arrange_meeting(role, environment, one_host, key, "");
  }
  return role;
}

}  // namespace fleet
