#pragma once
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fleet/core/error.hpp>
#include <fleet/launch/hosts.hpp>
#include <fleet/launch/list_text.hpp>

namespace fleet::launch {
namespace detail {

inline std::string numeric(sockaddr const* address) {
  char host[NI_MAXHOST];
  auto const length = address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  if (::getnameinfo(address, static_cast<socklen_t>(length), host, sizeof host, nullptr, 0, NI_NUMERICHOST) != 0)
    return {};
  return host;
}

inline bool is_loopback(std::string const& address) { return address == "::1" || address.starts_with("127."); }

/// Every address that a name stands for, as numbers.
inline std::vector<std::string> addresses_of(std::string const& name) {
  addrinfo hints{}, *first = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (int const error = ::getaddrinfo(name.c_str(), nullptr, &hints, &first); error != 0)
    throw ConfigurationError(text("fleetrun: --ips names the host \"", name, "\", which has no address (",
                                  ::gai_strerror(error), "); give its address in numbers"));
  std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> const owner{first, &::freeaddrinfo};
  std::vector<std::string> addresses;
  for (auto const* entry = first; entry; entry = entry->ai_next)
    if (entry->ai_family == AF_INET || entry->ai_family == AF_INET6) addresses.push_back(numeric(entry->ai_addr));
  return addresses;
}

inline std::set<std::string> own_addresses() {
  std::set<std::string> addresses;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return addresses;
  std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> const owner{first, &::freeifaddrs};
  for (auto const* entry = first; entry; entry = entry->ifa_next)
    if (entry->ifa_addr && (entry->ifa_addr->sa_family == AF_INET || entry->ifa_addr->sa_family == AF_INET6))
      addresses.insert(numeric(entry->ifa_addr));
  return addresses;
}

}  // namespace detail

FLEET_BODY std::vector<std::string> split_list(std::string const& list, std::string const& option) {
  std::vector<std::string> entries;
  for (std::size_t begin = 0; begin <= list.size();) {
    auto const end = std::min(list.find(',', begin), list.size());
    auto entry = list.substr(begin, end - begin);
    entry.erase(0, entry.find_first_not_of(" \t"));
    if (auto const last = entry.find_last_not_of(" \t"); last != std::string::npos) entry.erase(last + 1);
    if (entry.empty()) throw ConfigurationError(text("fleetrun: ", option, "=\"", list, "\" has an empty entry"));
    if (std::find(entries.begin(), entries.end(), entry) != entries.end())
      throw ConfigurationError(text("fleetrun: ", option, "=\"", list, "\" has \"", entry, "\" twice"));
    entries.push_back(std::move(entry));
    begin = end + 1;
  }
  return entries;
}

FLEET_BODY Hosts find_hosts(std::string const& ips, std::string const& node_ip) {
  Hosts hosts;
  if (ips.empty()) {
    hosts.all = {"127.0.0.1"};
    return hosts;
  }
  hosts.all = split_list(ips, "--ips");
  for (auto& host : hosts.all)
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);

  std::vector<std::vector<std::string>> addresses;
  for (auto const& host : hosts.all) addresses.push_back(detail::addresses_of(host));
  auto const loops = [](auto const& of_host) {
    return std::all_of(of_host.begin(), of_host.end(), detail::is_loopback);
  };
  auto const looped = static_cast<std::size_t>(std::count_if(addresses.begin(), addresses.end(), loops));
  if (looped != 0 && looped != hosts.all.size()) {
    auto const guilty =
        static_cast<std::size_t>(std::find_if(addresses.begin(), addresses.end(), loops) - addresses.begin());
    throw ConfigurationError(text("fleetrun: --ips names \"", hosts.all[guilty], "\", a loopback address (",
                                  joined(addresses[guilty], ", "),
                                  ") that the other hosts cannot reach; give the address of its network interface"));
  }

  if (!hosts.several()) return hosts;
  if (!node_ip.empty()) {
    auto const found = std::find(hosts.all.begin(), hosts.all.end(), node_ip);
    if (found == hosts.all.end())
      throw ConfigurationError(text("fleetrun: this host is said to be \"", node_ip,
                                    "\" (--node_ip or POD_IP), which is not in --ips=", ips));
    hosts.own = static_cast<std::size_t>(found - hosts.all.begin());
    return hosts;
  }

  auto const own = detail::own_addresses();
  std::vector<std::size_t> matches;
  for (std::size_t i = 0; i < addresses.size(); ++i)
    if (std::any_of(addresses[i].begin(), addresses[i].end(),
                    [&](auto const& address) { return detail::is_loopback(address) || own.contains(address); }))
      matches.push_back(i);
  if (matches.empty())
    throw ConfigurationError(text("fleetrun: no entry of --ips=", ips, " is an address of this host, which has ",
                                  joined(own, ", "), "; correct --ips, or say which entry it is with --node_ip"));
  if (matches.size() > 1)
    throw ConfigurationError(text("fleetrun: several entries of --ips=", ips,
                                  " are addresses of this host; say which one it is with --node_ip or POD_IP"));
  hosts.own = matches.front();
  return hosts;
}

FLEET_BODY std::string endpoint(std::string const& host, int port) {
  return host.find(':') == std::string::npos ? text(host, ":", port) : text("[", host, "]:", port);
}

}  // namespace fleet::launch
