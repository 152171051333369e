#pragma once
#include <arpa/inet.h>
#include <netdb.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fleet/core/error.hpp>
#include <fleet/net/address.hpp>

namespace fleet::net {

FLEET_BODY HostPort HostPort::parse(std::string_view text) {
  auto const colon = text.rfind(':');
  HostPort out;
  bool good = colon != std::string_view::npos && colon > 0;
  if (good) {
    auto host = text.substr(0, colon), port = text.substr(colon + 1);
    auto const end = port.data() + port.size();
    auto const parsed = std::from_chars(port.data(), end, out.port);
    bool const brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
    good = parsed.ec == std::errc{} && parsed.ptr == end &&
           (brackets || host.find_first_of(":[]") == std::string_view::npos);
    out.host = brackets ? host.substr(1, host.size() - 2) : host;
  }
  if (!good)
    throw ConfigurationError(fleet::text("fleet: \"", text,
                                         "\" is no \"host:port\" with a port of 0 to 65535; an IPv6 "
                                         "address stands in brackets, as in [::1]:8000"));
  return out;
}

FLEET_BODY std::string HostPort::text() const {
  bool const brackets = host.find(':') != std::string::npos;
  return fleet::text(brackets ? "[" : "", host, brackets ? "]:" : ":", port);
}

FLEET_BODY SocketAddress::SocketAddress(sockaddr const* address, socklen_t size)
    : size_(std::min(size, static_cast<socklen_t>(sizeof storage_))) {
  std::memcpy(&storage_, address, size_);
}

FLEET_BODY std::string SocketAddress::host() const {
  char digits[NI_MAXHOST] = "";
  getnameinfo(data(), size_, digits, sizeof digits, nullptr, 0, NI_NUMERICHOST);
  return digits;
}

FLEET_BODY std::uint16_t SocketAddress::port() const {
  if (family() == AF_INET6) return ntohs(reinterpret_cast<sockaddr_in6 const*>(&storage_)->sin6_port);
  return ntohs(reinterpret_cast<sockaddr_in const*>(&storage_)->sin_port);
}

FLEET_BODY SocketAddress SocketAddress::with_port(std::uint16_t port) const {
  SocketAddress out = *this;
  if (family() == AF_INET6)
    reinterpret_cast<sockaddr_in6*>(&out.storage_)->sin6_port = htons(port);
  else
    reinterpret_cast<sockaddr_in*>(&out.storage_)->sin_port = htons(port);
  return out;
}

FLEET_BODY bool SocketAddress::loopback() const {
  if (family() == AF_INET6) {
    auto const& address = reinterpret_cast<sockaddr_in6 const*>(&storage_)->sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(&address) || (IN6_IS_ADDR_V4MAPPED(&address) && address.s6_addr[12] == 127);
  }
  return (ntohl(reinterpret_cast<sockaddr_in const*>(&storage_)->sin_addr.s_addr) >> 24) == 127;
}

FLEET_BODY bool SocketAddress::wildcard() const {
  if (family() == AF_INET6)
    return IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<sockaddr_in6 const*>(&storage_)->sin6_addr);
  return reinterpret_cast<sockaddr_in const*>(&storage_)->sin_addr.s_addr == htonl(INADDR_ANY);
}

FLEET_BODY std::vector<SocketAddress> resolve(HostPort const& host) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  int const status = getaddrinfo(host.host.c_str(), std::to_string(host.port).c_str(), &hints, &found);
  if (status != 0) {
    std::string const reason = status == EAI_SYSTEM ? std::generic_category().message(errno) : gai_strerror(status);
    throw ConfigurationError(fleet::text("fleet: the host name \"", host.host, "\" does not resolve: ", reason,
                                         "; use an address, or enter the name in /etc/hosts or the name service"));
  }
  std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> const owner{found, freeaddrinfo};
  std::vector<SocketAddress> out;
  for (auto const* at = found; at != nullptr; at = at->ai_next) out.emplace_back(at->ai_addr, at->ai_addrlen);
  return out;
}

}  // namespace fleet::net
