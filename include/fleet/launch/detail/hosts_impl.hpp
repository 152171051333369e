#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <fleet/core/error.hpp>
#include <fleet/launch/hosts.hpp>
#include <fleet/launch/list_text.hpp>
#include <fleet/net/address.hpp>
#include <fleet/net/interfaces.hpp>

namespace fleet::launch {
namespace detail {

/// What one entry of the list of hosts stands for.
struct HostAddresses {
  std::vector<std::string> all;
  bool loopback = true;  ///< all of them

  explicit HostAddresses(std::string const& host) {
    for (auto const& address : net::resolve({host, 0})) {
      all.push_back(address.host());
      loopback = loopback && address.loopback();
    }
  }
};

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

  std::vector<detail::HostAddresses> addresses(hosts.all.begin(), hosts.all.end());
  auto const looped = std::find_if(addresses.begin(), addresses.end(), [](auto const& host) { return host.loopback; });
  bool const all_looped = std::all_of(looped, addresses.end(), [](auto const& host) { return host.loopback; });
  if (looped != addresses.end() && !(looped == addresses.begin() && all_looped)) {
    auto const& guilty = hosts.all[static_cast<std::size_t>(looped - addresses.begin())];
    throw ConfigurationError(text("fleetrun: --ips names \"", guilty, "\", a loopback address (",
                                  joined(looped->all, ", "),
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

  std::vector<std::string> own;
  for (auto const& interface : net::interfaces()) own.push_back(interface.address.host());
  std::vector<std::size_t> matches;
  for (std::size_t i = 0; i < addresses.size(); ++i)
    if (addresses[i].loopback || std::find_first_of(addresses[i].all.begin(), addresses[i].all.end(), own.begin(),
                                                    own.end()) != addresses[i].all.end())
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
  return net::HostPort{host, static_cast<std::uint16_t>(port)}.text();
}

}  // namespace fleet::launch
