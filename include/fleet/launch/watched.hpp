#pragma once
#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <fleet/core/config.hpp>
#include <fleet/core/deadline.hpp>
#include <fleet/core/descriptor.hpp>
#include <fleet/launch/child.hpp>
#include <fleet/launch/console.hpp>
#include <fleet/launch/ending.hpp>
#include <fleet/launch/line_splitter.hpp>
#include <fleet/launch/plan.hpp>

namespace fleet::launch {

/// One process from its start to its end. What it prints goes on in whole lines, to the console and to its log file.
class Watched {
 public:
  /// Opens the log file; throws ConfigurationError where that fails.
  Watched(ProcessSpec spec, Console& console);
  /// Throws what `start_child` throws.
  void start(ChildSetup const& setup);

  bool running() const { return child_.pid > 0 && !drained_by_; }
  /// It has ended, its output is read, and its number is given back.
  bool finished() const { return finished_; }
  pid_t pid() const { return child_.pid; }
  Child const& child() const { return child_; }
  Ending const& ending() const { return ending_; }
  /// By when its output is taken to be over; set once the process itself has ended.
  std::optional<Deadline> drained_by() const { return drained_by_; }
  bool drained() const { return drained_by_ && ((!child_.output && !child_.error) || drained_by_->passed()); }

  /// Sends a signal to its process group. `asks_to_end` marks its ending as one that it was told to.
  void send(int signal_number, bool asks_to_end);
  /// Reads once from a stream that has something, or is over.
  void read(Stream stream);
  /// Notes how it ended; false if it has not. It stays a zombie until `finish`, so that its number, and that of its
  /// group, cannot be given away.
  bool note_end(int order, std::chrono::steady_clock::time_point started, std::chrono::milliseconds drain);
  /// Ends what is left of its group, passes the last of its output on, and gives its number back.
  void finish();
  /// It does not end although it was killed: nothing more is expected of it.
  void give_up();

 private:
  Descriptor& descriptor(Stream stream) { return stream == Stream::output ? child_.output : child_.error; }
  void pass_on(Stream stream, std::string_view piece);
  void write_log(std::string const& lines);

  ProcessSpec spec_;
  Console* console_;
  Child child_;
  LineSplitter lines_[2];
  Descriptor log_;
  Ending ending_;
  std::optional<Deadline> drained_by_;
  bool finished_ = false;
};

}  // namespace fleet::launch

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/launch/detail/watched_impl.hpp>  // IWYU pragma: export
#endif
