#pragma once
#include <string>
#include <utility>
#include <vector>

#include <fleet/core/config.hpp>
#include <fleet/job/environment.hpp>
#include <fleet/launch/hosts.hpp>
#include <fleet/launch/settings.hpp>

namespace fleet::launch {

/// One process to start on this host.
struct ProcessSpec {
  std::string label;  ///< how it is called in messages and before its lines: "rank 3"
  int rank = 0;
  std::string host;
  std::string log;                                               ///< path of its log file
  std::vector<std::pair<std::string, std::string>> environment;  ///< set on top of the launcher's own
};

/// Everything that one launcher starts on its host; made before anything is started.
struct Plan {
  std::vector<ProcessSpec> processes;
  std::vector<std::string> command;
  std::string program;               ///< the file that is executed
  std::vector<std::string> removed;  ///< inherited variables that would contradict the role: not passed on
  Hosts hosts;
  int store_port = 0;  ///< of the rendezvous store; 0: chosen by the system when it is opened
  std::string token;   ///< the job's secret; never printed
  std::string log_dir;

  /// One launcher of a job, that of the first host, holds the store.
  bool holds_store() const { return hosts.own == 0; }
};

/// The names that hold what is known only once the store is open.
constexpr char const *store_variable = "PADDLE_GLOO_HTTP_ENDPOINT", *token_variable = "FLEET_JOB_TOKEN";

/// Lays out a collective job: node-major ranks, and each rank's variables. Reads the program's whereabouts, the job's
/// token and what the user set himself from `environment`. Throws ConfigurationError for what cannot work.
Plan make_plan(Settings const& settings, Environment const& environment);

/// The processor cores that this process may use; at least 1.
int usable_cores();

}  // namespace fleet::launch

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/launch/detail/plan_impl.hpp>  // IWYU pragma: export
#endif
