#pragma once
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include <fleet/core/checks.hpp>
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

}  // namespace fleet::comm::tcp
