#pragma once
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fleet/core/config.hpp>

namespace fleet::net {

/// "host:port" taken apart: "127.0.0.1:80", "[::1]:80", "node7:80".
struct HostPort {
  std::string host;
  std::uint16_t port = 0;

  /// Throws ConfigurationError that quotes the text, unless it is such a pair.
  FLEET_BODY static HostPort parse(std::string_view text);
  /// With an IPv6 address in brackets.
  FLEET_BODY std::string text() const;
};

/// An IPv4 or IPv6 address with a port, as the system's calls take it.
class SocketAddress {
 public:
  SocketAddress() = default;
  FLEET_BODY SocketAddress(sockaddr const* address, socklen_t size);

  int family() const { return storage_.ss_family; }
  sockaddr const* data() const { return reinterpret_cast<sockaddr const*>(&storage_); }
  socklen_t size() const { return size_; }

  FLEET_BODY std::string host() const;  ///< in digits, without brackets
  FLEET_BODY std::uint16_t port() const;
  FLEET_BODY SocketAddress with_port(std::uint16_t port) const;
  std::string text() const { return HostPort{host(), port()}.text(); }
  FLEET_BODY bool loopback() const;
  FLEET_BODY bool wildcard() const;  ///< 0.0.0.0 or ::

 private:
  sockaddr_storage storage_{};
  socklen_t size_ = 0;
};

/// All addresses of a host name or of an address in digits. Throws ConfigurationError that names the host and says
/// what the resolver said.
FLEET_BODY std::vector<SocketAddress> resolve(HostPort const& host);

}  // namespace fleet::net

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/net/detail/address_impl.hpp>  // IWYU pragma: export
#endif
