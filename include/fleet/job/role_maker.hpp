#pragma once
#include <fleet/core/config.hpp>
#include <fleet/job/environment.hpp>
#include <fleet/job/role.hpp>

namespace fleet {

/// Finds out who this process is: from the variables of fleetrun, torchrun, Open MPI or Slurm; without any it is worker
/// 0 of 1. torchrun and mpirun may run inside a Slurm job and are believed then; any other two that disagree are a
/// ConfigurationError that names both. FLEET_TIMEOUT (seconds), FLEET_INTERFACE and FLEET_ENGINE
/// apply to every role.
Role make_role(Environment const& environment);

}  // namespace fleet

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/job/detail/role_maker_impl.hpp>  // IWYU pragma: export
#endif
