#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include <fleet/core/config.hpp>
#include <fleet/core/descriptor.hpp>

namespace fleet::comm::shm {

/// The processes of a group's ranks, to be told when one of them ends, in whatever way.
class Processes {
 public:
  /// `ids` by rank. Throws ConfigurationError at the limit of descriptors.
  FLEET_BODY explicit Processes(std::span<int const> ids);

  int id(std::size_t rank) const { return ids_[rank]; }
  /// Whether that of `rank` has ended. Never blocks.
  FLEET_BODY bool ended(std::size_t rank) const;

 private:
  std::vector<int> ids_;
  std::vector<Descriptor> handles_;  // none for this process, and where the system has no handles for processes
};

}  // namespace fleet::comm::shm

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/comm/shm/detail/processes_impl.hpp>  // IWYU pragma: export
#endif
