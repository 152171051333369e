#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace fleet::launch {

/// What a user asks of the launcher; the command line of fleetrun, read.
struct Settings {
  std::string ips;                    ///< hosts, comma-separated, by host rank; empty: this host alone
  std::string node_ip;                ///< which of `ips` this host is; empty: POD_IP, else found out
  std::string gpus;                   ///< device ids, comma-separated; empty: none are assigned
  std::optional<int> nproc_per_node;  ///< none: one a device, or 1
  std::string log_dir = "log";
  int http_port = 0;                   ///< of the rendezvous store; 0: free on one host, `default_port` on several
  std::chrono::seconds grace{5};       ///< between the request to end and SIGKILL
  std::optional<int> timeout_seconds;  ///< how long ranks wait for one another; none: FLEET_TIMEOUT, or its default
  bool dry_run = false;
  std::vector<std::string> command;  ///< the program and its arguments, as they reach each rank

  static constexpr int default_port = 6170;
};

}  // namespace fleet::launch
