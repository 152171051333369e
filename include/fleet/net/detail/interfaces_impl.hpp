#pragma once
#include <ifaddrs.h>
#include <net/if.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <fleet/core/error.hpp>
#include <fleet/core/system_reason.hpp>
#include <fleet/net/address.hpp>
#include <fleet/net/interfaces.hpp>

namespace fleet::net {
namespace detail {

inline std::string listed(std::vector<Interface> const& all) {
  std::string out;
  for (auto const& one : all) out += text(out.empty() ? "" : ", ", one.name, " (", one.address.host(), ")");
  return out.empty() ? "none" : out;
}

}  // namespace detail

FLEET_BODY std::vector<Interface> interfaces() {
  ifaddrs* found = nullptr;
  if (getifaddrs(&found) != 0)
    throw ConfigurationError("fleet: cannot list the network interfaces: " + system_reason(errno));
  std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> const owner{found, freeifaddrs};
  std::vector<Interface> out;
  for (auto const* at = found; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || (at->ifa_flags & IFF_UP) == 0) continue;
    if (at->ifa_addr->sa_family == AF_INET) {
      out.push_back({at->ifa_name, {at->ifa_addr, sizeof(sockaddr_in)}});
    } else if (at->ifa_addr->sa_family == AF_INET6) {
      auto const* v6 = reinterpret_cast<sockaddr_in6 const*>(at->ifa_addr);
      if (!IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr)) out.push_back({at->ifa_name, {at->ifa_addr, sizeof(sockaddr_in6)}});
    }
  }
  std::stable_sort(out.begin(), out.end(),
                   [](auto const& a, auto const& b) { return a.address.family() < b.address.family(); });
  return out;
}

FLEET_BODY SocketAddress local_address(std::string const& what) {
  auto const all = interfaces();
  for (auto const& one : all)
    if (one.name == what) return one.address;
  std::vector<SocketAddress> candidates;
  std::string reason = "is no interface, and no address of this host";
  try {
    candidates = resolve({what, 0});
  } catch (ConfigurationError const&) {
    reason = "is no interface of this host, and does not resolve as a host name";
  }
  for (auto const& candidate : candidates) {
    if (candidate.wildcard()) return candidate;
    if (candidate.loopback() && candidate.family() == AF_INET) return candidate;  // all of 127.0.0.0/8 is
    for (auto const& one : all)
      if (one.address.family() == candidate.family() && one.address.host() == candidate.host()) return candidate;
  }
  throw ConfigurationError(
      text("fleet: cannot listen on \"", what, "\": it ", reason, "; there are: ", detail::listed(all)));
}

FLEET_BODY SocketAddress source_address(SocketAddress const& peer) {
  int const probe = ::socket(peer.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (probe < 0) {
    throw_if_limit("cannot find the way to " + peer.host(), errno);
    throw ConfigurationError(text("fleet: cannot find the way to ", peer.host(), ": ", system_reason(errno)));
  }
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  // Connecting a datagram socket sends nothing: it only asks the routing table.
  bool const found = ::connect(probe, peer.data(), peer.size()) == 0 &&
                     ::getsockname(probe, reinterpret_cast<sockaddr*>(&own), &size) == 0;
  int const error = errno;
  ::close(probe);
  if (!found) throw ConfigurationError(text("fleet: there is no way to ", peer.host(), ": ", system_reason(error)));
  return SocketAddress{reinterpret_cast<sockaddr const*>(&own), size}.with_port(0);
}

FLEET_BODY SocketAddress routable_address() {
  auto const all = interfaces();
  for (auto const& one : all)
    if (!one.address.loopback()) return one.address;
  throw ConfigurationError("fleet: this host has no address that other hosts could reach; its interfaces are: " +
                           detail::listed(all));
}

FLEET_BODY std::string host_identity() {
  std::string boot;
  std::ifstream{"/proc/sys/kernel/random/boot_id"} >> boot;
  char link[PATH_MAX];
  auto const length = ::readlink("/proc/self/ns/net", link, sizeof link);
  return text(boot.empty() ? host_name() : boot, "/",
              std::string_view{link, length > 0 ? static_cast<std::size_t>(length) : 0});
}

FLEET_BODY std::string host_name() {
  char name[HOST_NAME_MAX + 1] = "";
  ::gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace fleet::net
