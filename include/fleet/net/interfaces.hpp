#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <fleet/core/config.hpp>
#include <fleet/net/address.hpp>

namespace fleet::net {

/// One address of a network interface of this host.
struct Interface {
  std::string name;
  SocketAddress address;
};

/// The addresses of all interfaces that are up; those of IPv6 link scope are left out, as they need a zone.
FLEET_BODY std::vector<Interface> interfaces();

/// The local address that `what` names: an interface, an address in digits (0.0.0.0 and :: too), or a host name of
/// this host. Throws ConfigurationError that lists the interfaces there are.
FLEET_BODY SocketAddress local_address(std::string const& what);

/// The local address from which a connection to `peer` would come.
FLEET_BODY SocketAddress source_address(SocketAddress const& peer);

/// The first address of this host that other hosts may be able to reach. Throws ConfigurationError if there is none.
FLEET_BODY SocketAddress routable_address();

/// The same on two processes just if they run on one host and in one network namespace, so that loopback joins them.
FLEET_BODY std::string host_identity();

/// The name of this host.
FLEET_BODY std::string host_name();

}  // namespace fleet::net

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/net/detail/interfaces_impl.hpp>  // IWYU pragma: export
#endif
