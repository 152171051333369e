#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include <fleet/core/config.hpp>

namespace fleet {

enum class ProgressStyle : std::uint8_t {
  automatic,  ///< a bar on a terminal, lines elsewhere
  bar,        ///< one line that is written anew
  lines,      ///< whole lines, for logs
  none,       ///< nothing at all
};

struct ProgressSettings {
  ProgressStyle style = ProgressStyle::automatic;
  std::int64_t print_period = 0;  ///< lines: one every so many steps; 0: one every `line_interval`
  std::chrono::milliseconds line_interval = std::chrono::seconds{5};
  std::chrono::milliseconds bar_interval{100};
  std::FILE* output = nullptr;  ///< null: the standard output
};

/// Tells a person how far the training is: step, mean loss of the epoch so far, examples per second, time left. Only
/// the first worker makes one. A bar is redrawn in place; lines come whole, each in one write, and the end of every
/// epoch always gets one.
class Progress {
 public:
  /// `epochs`: how many there will be, for the text alone.
  Progress(ProgressSettings const& settings, std::int64_t epochs);
  Progress(Progress const&) = delete;
  Progress& operator=(Progress const&) = delete;
  /// Leaves a started bar as it is and begins a new line.
  ~Progress();

  /// `epoch` counts from 0. `steps`: of this epoch, 0 if unknown; `done`: how many of them an earlier run did.
  void begin_epoch(std::int64_t epoch, std::int64_t steps, std::int64_t done = 0);
  /// After every step. `examples`: of the batch, on all workers.
  void step(float loss, std::size_t examples);
  /// `results`, such as "accuracy 0.97", go to the end of the epoch's line.
  void end_epoch(std::string_view results = {});
  /// A line of its own between the others; a bar moves out of its way.
  void message(std::string_view line);

  /// The style in use: never `automatic`.
  ProgressStyle style() const { return settings_.style; }

 private:
  using Clock = std::chrono::steady_clock;

  std::string position() const;
  std::string numbers() const;
  void draw_bar();
  void print_line(std::string_view results);
  void write(std::string_view text) const;
  std::size_t columns() const;

  ProgressSettings settings_;
  std::int64_t epochs_, epoch_ = 0, steps_ = 0, done_ = 0, done_before_ = 0, measured_ = 0;
  std::uint64_t examples_ = 0;
  double loss_sum_ = 0;
  std::size_t drawn_ = 0;  ///< characters of the bar that stands on the terminal
  Clock::time_point begun_{}, shown_{};
};

}  // namespace fleet

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/train/detail/progress_impl.hpp>  // IWYU pragma: export
#endif
