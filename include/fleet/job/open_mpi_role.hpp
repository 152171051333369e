#pragma once
#include <unistd.h>

#include <string>

#include <fleet/job/environment.hpp>
#include <fleet/job/meeting.hpp>
#include <fleet/job/role.hpp>
#include <fleet/job/role_checks.hpp>

namespace fleet {

inline bool has_open_mpi_role(Environment const& environment) {
  return environment.has("OMPI_COMM_WORLD_RANK") || environment.has("OMPI_COMM_WORLD_SIZE");
}

/// The role that Open MPI's mpirun gives; nothing of MPI itself is used. On several hosts the workers need
/// FLEET_STORE_ENDPOINT and FLEET_JOB_TOKEN. Throws ConfigurationError.
inline Role open_mpi_role(Environment const& environment) {
  Role role;
  role.source = "Open MPI";
  environment.require("OMPI_COMM_WORLD_RANK", "the rank of this process, beside OMPI_COMM_WORLD_SIZE");
  environment.require("OMPI_COMM_WORLD_SIZE", "the number of processes, beside OMPI_COMM_WORLD_RANK");
  role.index = *environment.integer("OMPI_COMM_WORLD_RANK");
  role.worker_num = *environment.integer("OMPI_COMM_WORLD_SIZE");
  role.local_num = environment.integer("OMPI_COMM_WORLD_LOCAL_SIZE").value_or(role.worker_num);
  role.local_index =
      environment.integer("OMPI_COMM_WORLD_LOCAL_RANK").value_or(role.local_num == role.worker_num ? role.index : 0);
  check_role(role, {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
                    "OMPI_COMM_WORLD_LOCAL_SIZE", ""});
  for (char const* name : {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "OMPI_MCA_orte_ess_jobid"})
    if (role.job_id.empty()) role.job_id = environment.get(name).value_or("");
  // Without an id the processes of one mpirun still have one parent.
  auto const key = role.job_id.empty() ? text("parent ", ::getppid()) : role.job_id;
  arrange_meeting(role, environment, role.local_num == role.worker_num, text("Open MPI ", key), "");
  return role;
}

}  // namespace fleet
