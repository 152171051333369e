#pragma once
#include <memory>
#include <string>
#include <vector>

#include <fleet/comm/tcp/detail/link.hpp>
#include <fleet/core/config.hpp>
#include <fleet/core/deadline.hpp>
#include <fleet/core/function_ref.hpp>
#include <fleet/net/address.hpp>
#include <fleet/net/socket.hpp>
#include <fleet/net/token.hpp>

namespace fleet::comm::tcp {

/// Where a rank of a group listens, and what it is called in messages.
struct Place {
  std::string endpoint;
  std::string name;
};

/// How the ranks of a group come together.
struct MeshPlan {
  int rank = 0;
  std::vector<Place> places;  ///< of all ranks
  net::Token token;
  net::Digest group{};  ///< tells this group from all others
  Deadline deadline;
  FunctionRef<void()> check;  ///< called now and then while this rank waits; may throw
};

/// Connects to the ranks below and accepts those above, each by a connection for data and one for control, on which
/// both sides prove the token and name the group. Strangers are refused, and logged once. Result by rank; none for
/// this one.
FLEET_BODY std::vector<std::unique_ptr<Link>> connect_mesh(net::Listener const& listener, MeshPlan const& plan);

}  // namespace fleet::comm::tcp

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/comm/tcp/detail/mesh_impl.hpp>  // IWYU pragma: export
#endif
