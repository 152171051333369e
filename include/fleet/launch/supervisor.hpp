#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include <fleet/core/config.hpp>
#include <fleet/core/deadline.hpp>
#include <fleet/core/descriptor.hpp>
#include <fleet/launch/child.hpp>
#include <fleet/launch/console.hpp>
#include <fleet/launch/plan.hpp>
#include <fleet/launch/watched.hpp>

namespace fleet::launch {

/// How long a supervisor waits for what.
struct Patience {
  std::chrono::milliseconds settle{2000};  ///< after the first failure, for the others to report errors of their own
  std::chrono::milliseconds grace{5000};   ///< between the request to end and SIGKILL
  std::chrono::milliseconds drain{1000};   ///< after a rank's end, for the output of what it started and left behind
  std::chrono::milliseconds unkillable{10000};  ///< after SIGKILL
};

/// Starts processes and watches them to their end: passes their output on in whole lines, to the console and to one log
/// file each; forwards signals; ends the others after the first failure; leaves nothing running.
class Supervisor {
 public:
  /// `life_line` becomes readable when whoever watches over this process is gone; everything is killed then.
  Supervisor(ChildSetup setup, Patience patience, Descriptor life_line);
  ~Supervisor();
  Supervisor(Supervisor const&) = delete;
  Supervisor& operator=(Supervisor const&) = delete;

  void say(Stream stream, std::string_view line) { console_.add(stream, {}, line); }
  /// Opens all log files, then starts all processes. Throws ConfigurationError for a file that cannot be written, and
  /// what `start_child` throws.
  void start(std::vector<ProcessSpec> const& processes);
  /// Returns the status to exit with, when all have ended and everything is printed, the summary last.
  int run();

 private:
  enum class Phase : std::uint8_t { running, settling, ending, killing };

  int wait_time() const;
  void handle_events();
  void handle_streams();
  void handle_signals();
  void handle_end(Watched& process);
  void handle_time();
  void reap_adopted();
  void signal_all(int number, bool asks_to_end);
  void stop(int number);
  void kill_all();
  int conclude();
  [[noreturn]] void abandon();
  bool all_finished() const;

  ChildSetup setup_;
  Patience patience_;
  Descriptor life_line_, signals_, events_, sources_;
  Console console_;
  std::deque<Watched> processes_;
  Phase phase_ = Phase::running;
  std::optional<Deadline> phase_ends_;
  std::optional<int> stop_signal_;
  int ended_ = 0;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

}  // namespace fleet::launch

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/launch/detail/supervisor_impl.hpp>  // IWYU pragma: export
#endif
