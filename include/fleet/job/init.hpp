#pragma once
#include <fleet/core/config.hpp>
#include <fleet/job/job.hpp>
#include <fleet/job/role.hpp>

namespace fleet {

/// Joins this process to its job: finds its role in the environment (fleetrun's, torchrun's, Open MPI's or Slurm's
/// variables; none: worker 0 of 1), meets the other workers and connects to them. Every worker calls it. The arguments
/// stay as they are. FLEET_TIMEOUT, in seconds, bounds the meeting and every later operation (default 300);
/// FLEET_INTERFACE is the network interface to use; FLEET_ENGINE is shm (default where all workers are of one
/// host) or tcp, the same on every worker; FLEET_LOG is quiet, warning, info or debug. Under a launcher the
/// output stream passes whole lines on as they are written. Throws ConfigurationError for variables that cannot work or
/// contradict each other, also between workers, and TransportError for workers that do not come in time.
Job init(int argc, char const* const* argv);
Job init();

/// The same with a role of the user's own. `store` or `meeting_file` says where several workers meet; the first worker
/// opens the store unless `store_is_running`.
Job init(Role role);

}  // namespace fleet

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/job/detail/init_impl.hpp>  // IWYU pragma: export
#endif
