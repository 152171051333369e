#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include <fleet/core/config.hpp>

namespace fleet::launch {

/// The hosts of a job in rank order, and which of them this one is.
struct Hosts {
  std::vector<std::string> all;
  std::size_t own = 0;

  bool several() const { return all.size() > 1; }
  std::string const& own_address() const { return all[own]; }
};

/// Splits a list at its commas; throws ConfigurationError that names `option` for an empty or repeated entry.
std::vector<std::string> split_list(std::string const& list, std::string const& option);

/// Reads the list of hosts and finds this one in it: by `node_ip` where it is given, else by the addresses of the
/// network interfaces. Throws ConfigurationError where that is no host of the list or several, or where a loopback
/// address would be announced to another host.
Hosts find_hosts(std::string const& ips, std::string const& node_ip);

/// "host:port", with brackets around an IPv6 address.
std::string endpoint(std::string const& host, int port);

}  // namespace fleet::launch

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/launch/detail/hosts_impl.hpp>  // IWYU pragma: export
#endif
