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
#include <fleet/net/token.hpp>

namespace fleet::comm::tcp {

/// How one rank joins a group of processes.
struct Options {
  int rank = 0;
  int size = 1;
  /// Where the ranks meet; needed unless size is 1. One scope of it serves one group of each `group` name.
  std::optional<net::StoreClient> store{};
  std::string group = "workers";
  std::string job_id{};  ///< must be the same on all ranks
  net::Token token{};    ///< every connection proves it, both ways
  /// Where to listen: an address, a host name or an interface name, with or without ":port". Empty: the address by
  /// which the store is reached, so that ranks of one host meet on loopback. Port 0 or none: chosen by the system.
  std::string bind{};
  /// The host that the others connect to, where it differs from the address bound to.
  std::string advertise{};
  std::chrono::milliseconds connect_timeout = std::chrono::minutes{5};
  std::chrono::milliseconds timeout = std::chrono::minutes{5};  ///< of every call; Communicator::set_timeout
  std::size_t piece_bytes = std::size_t{256} << 10;             ///< the most that one frame carries
  CheckLevel checks = CheckLevel::light;
};

/// Joins the group: listens, publishes the endpoint in the store, and connects to every other rank. All ranks call it
/// with the same size, group, job id and token. Throws ConfigurationError for settings that cannot work or contradict
/// those of other ranks (two processes with one rank, another size: on every rank, naming both), and TransportError
/// for ranks that do not come in time.
FLEET_BODY std::shared_ptr<Communicator> connect(Options const& options);

}  // namespace fleet::comm::tcp

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/comm/tcp/detail/tcp_impl.hpp>  // IWYU pragma: export
#endif
