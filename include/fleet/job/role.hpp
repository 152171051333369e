#pragma once
#include <chrono>
#include <string>
#include <vector>

namespace fleet {

/// Who a process is in its job, and how it finds the others: what a role maker finds out. Fill one in and hand it to
/// `init` to be a role maker of your own.
struct Role {
  int index = 0;  ///< among the workers, or among the servers
  int worker_num = 1;
  bool is_server = false;
  int local_index = 0;  ///< among the workers of this host
  int local_num = 1;
  std::vector<std::string> worker_endpoints;  ///< "host:port" a worker, by rank; port 0: chosen by the system
  std::vector<std::string> server_endpoints;  ///< "host:port" a server; empty in collective mode
  std::string store;                          ///< "host:port" of the job's rendezvous store; empty for a single process
  bool store_is_running = false;              ///< a launcher holds the store; else the first worker opens it
  std::string meeting_file;  ///< where the workers of one host tell each other store and token, if `store` is empty
  std::string token;         ///< the job's secret: peers must prove that they hold it. Never printed.
  std::string job_id;        ///< tells the jobs of one store apart
  std::string interface;     ///< to listen on: its name or an address; empty: found out
  std::string engine;        ///< of the workers' group: "shm" or "tcp"; empty: shm where all workers are of one host
  std::chrono::milliseconds timeout = std::chrono::minutes{5};  ///< of the rendezvous, and of each later operation
  std::string source = "single process";
};

}  // namespace fleet
