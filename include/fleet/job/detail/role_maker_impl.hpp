#pragma once
#include <chrono>
#include <optional>

#include <fleet/core/error.hpp>
#include <fleet/job/fleetrun_role.hpp>
#include <fleet/job/open_mpi_role.hpp>
#include <fleet/job/role_maker.hpp>
#include <fleet/job/slurm_role.hpp>
#include <fleet/job/torchrun_role.hpp>

namespace fleet {
namespace detail {

struct RoleSource {
  bool (*present)(Environment const&);
  Role (*make)(Environment const&);
  char const* index;
  char const* number;
};

/// The innermost launcher first.
constexpr RoleSource role_sources[] = {
    {has_fleetrun_role, fleetrun_role, "PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM"},
    {has_torchrun_role, torchrun_role, "RANK", "WORLD_SIZE"},
    {has_open_mpi_role, open_mpi_role, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {has_slurm_role, slurm_role, "SLURM_PROCID", "SLURM_NTASKS"},
};

/// torchrun and mpirun are started by srun once a host, so Slurm's rank is then another thing than theirs.
inline bool may_lie_beneath(RoleSource const& inner, RoleSource const& outer) {
  return outer.present == &has_slurm_role && inner.present != &has_fleetrun_role;
}

inline void check_agreement(Role const& role, RoleSource const& chosen, RoleSource const& other,
                            Environment const& environment) {
  auto const index = environment.integer(other.index), number = environment.integer(other.number);
  if (role.is_server || may_lie_beneath(chosen, other)) return;
  if ((!index || *index == role.index) && (!number || *number == role.worker_num)) return;
  throw ConfigurationError(text("fleet: the environment tells two stories: ", chosen.index, "=", role.index, " of ",
                                chosen.number, "=", role.worker_num, ", but ", other.index, "=",
                                environment.get(other.index).value_or("(not set)"), " of ", other.number, "=",
                                environment.get(other.number).value_or("(not set)"),
                                "; unset the variables of the launcher that did not start this process"));
}

}  // namespace detail

FLEET_BODY Role make_role(Environment const& environment) {
  detail::RoleSource const* chosen = nullptr;
  Role role;
  for (auto const& source : detail::role_sources) {
    if (!source.present(environment)) continue;
    if (chosen) {
      detail::check_agreement(role, *chosen, source, environment);
    } else {
      role = source.make(environment);
      chosen = &source;
    }
  }
  if (auto const seconds = environment.integer("FLEET_TIMEOUT", 1)) role.timeout = std::chrono::seconds{*seconds};
  role.interface = environment.get("FLEET_INTERFACE").value_or("");
  role.engine = environment.get("FLEET_ENGINE").value_or("");
  return role;
}

}  // namespace fleet
