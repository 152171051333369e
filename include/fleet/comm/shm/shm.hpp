#pragma once
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include <fleet/comm/communicator.hpp>
#include <fleet/core/checks.hpp>
#include <fleet/core/config.hpp>
#include <fleet/net/store_client.hpp>

namespace fleet::comm::shm {

/// How one rank joins a group of processes of one host.
struct Options {
  int rank = 0;
  int size = 1;
  /// Where the ranks meet; needed unless size is 1. One scope of it serves one group of each `group` name.
  std::optional<net::StoreClient> store{};
  std::string group = "workers";
  std::chrono::milliseconds connect_timeout = std::chrono::minutes{5};
  std::chrono::milliseconds timeout = std::chrono::minutes{5};  ///< of every call; Communicator::set_timeout
  /// What a rank puts before the others at a time. A rank takes 5 times this of the host's memory, and up to 4 MiB
  /// more if it uses the other operations than all_reduce, all_gather, reduce_scatter and broadcast.
  std::size_t chunk_bytes = std::size_t{256} << 10;
  CheckLevel checks = CheckLevel::light;
};

/// Joins the group: its ranks share memory that no name in any file system leads to, and that is gone when the last of
/// them has ended, in whatever way. All ranks call it with the same size, group and chunk_bytes. Throws
/// ConfigurationError for settings that cannot work or contradict those of other ranks (two processes with one rank,
/// another size or chunk: on every rank, naming both) and for ranks that cannot share memory, and TransportError for
/// ranks that do not come in time.
FLEET_BODY std::shared_ptr<Communicator> connect(Options const& options);

/// The same on two processes just if `connect` can join them: they run on one host, as one user, and see each other.
FLEET_BODY std::string place();

}  // namespace fleet::comm::shm

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/comm/shm/detail/shm_impl.hpp>  // IWYU pragma: export
#endif
