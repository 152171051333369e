#pragma once
#include <string>

#include <fleet/core/error.hpp>
#include <fleet/job/environment.hpp>
#include <fleet/job/meeting.hpp>
#include <fleet/job/role.hpp>
#include <fleet/job/role_checks.hpp>

namespace fleet {

inline bool has_torchrun_role(Environment const& environment) {
  return environment.has("RANK") && environment.has("WORLD_SIZE");
}

/// The role that torchrun gives, or whoever sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT by hand. Where torchrun
/// itself listens on MASTER_PORT the store gets the next one. Throws ConfigurationError.
inline Role torchrun_role(Environment const& environment) {
  Role role;
  role.source = "torchrun";
  role.index = *environment.integer("RANK");
  role.worker_num = *environment.integer("WORLD_SIZE");
  auto const address = environment.get("MASTER_ADDR").value_or("");
  bool const loopback = address == "localhost" || address == "::1" || address.starts_with("127.");
  auto const local_num = environment.integer("LOCAL_WORLD_SIZE");
  bool const one_host = local_num ? *local_num == role.worker_num : loopback;
  role.local_num = local_num.value_or(one_host ? role.worker_num : 1);
  role.local_index = environment.integer("LOCAL_RANK").value_or(one_host ? role.index : 0);
  check_role(role, {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", ""});
  if (role.worker_num == 1) return role;

  environment.require("MASTER_ADDR", "the host of rank 0, where the workers meet");
  auto const port = environment.integer("MASTER_PORT", 1);
  if (!port || *port > 65535)
    throw ConfigurationError("fleet: MASTER_PORT gives no port (1 to 65535) on MASTER_ADDR, where the workers meet");
  role.job_id = text(environment.get("TORCHELASTIC_RUN_ID").value_or(""), ".",
                     environment.get("TORCHELASTIC_RESTART_COUNT").value_or(""));
  bool const port_is_taken =
      environment.has("TORCHELASTIC_USE_AGENT_STORE") && *environment.get("TORCHELASTIC_USE_AGENT_STORE") != "False";
  int const store_port = !port_is_taken ? *port : *port == 65535 ? *port - 1 : *port + 1;
  arrange_meeting(
      role, environment, one_host, text("torchrun ", role.job_id, " ", address, ":", *port),
      address.find(':') == std::string::npos ? text(address, ":", store_port) : text("[", address, "]:", store_port));
  return role;
}

}  // namespace fleet
