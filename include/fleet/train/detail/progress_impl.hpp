#pragma once
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <fleet/core/text.hpp>
#include <fleet/train/progress.hpp>

namespace fleet {
namespace detail {

inline std::string rounded(double value, char const* format) {
  std::array<char, 40> out{};
  std::snprintf(out.data(), out.size(), format, value);
  return out.data();
}

/// "0:07", "12:34", "1:02:03"
inline std::string as_time(double seconds) {
  auto const total = static_cast<std::int64_t>(std::llround(std::clamp(seconds, 0.0, 1e9)));
  auto const two = [](std::int64_t number) { return text(number < 10 ? "0" : "", number); };
  std::string const tail = text(':', two(total % 60));
  return total < 3600 ? text(total / 60, tail) : text(total / 3600, ':', two(total / 60 % 60), tail);
}

}  // namespace detail

FLEET_BODY Progress::Progress(ProgressSettings const& settings, std::int64_t epochs)
    : settings_(settings), epochs_(epochs) {
  if (!settings_.output) settings_.output = stdout;
  if (settings_.style == ProgressStyle::automatic)
    settings_.style = ::isatty(::fileno(settings_.output)) ? ProgressStyle::bar : ProgressStyle::lines;
}

FLEET_BODY Progress::~Progress() {
  if (drawn_ > 0) write("\n");
}

FLEET_BODY void Progress::begin_epoch(std::int64_t epoch, std::int64_t steps, std::int64_t done) {
  epoch_ = epoch;
  steps_ = steps;
  done_ = done_before_ = done;
  examples_ = 0;
  loss_sum_ = 0;
  measured_ = 0;
  begun_ = shown_ = Clock::now();
}

FLEET_BODY void Progress::step(float loss, std::size_t examples) {
  ++done_;
  ++measured_;
  loss_sum_ += static_cast<double>(loss);
  examples_ += examples;
  if (settings_.style == ProgressStyle::none || done_ == steps_) return;  // the end of the epoch is another line
  bool const bar = settings_.style == ProgressStyle::bar;
  if (!bar && settings_.print_period > 0) {
    if (done_ % settings_.print_period == 0) print_line({});
  } else if (auto const now = Clock::now(); now - shown_ >= (bar ? settings_.bar_interval : settings_.line_interval)) {
    shown_ = now;
    bar ? draw_bar() : print_line({});
  }
}

FLEET_BODY void Progress::end_epoch(std::string_view results) {
  if (settings_.style == ProgressStyle::none) return;
  steps_ = done_;
  print_line(results);
}

FLEET_BODY void Progress::message(std::string_view line) {
  if (settings_.style == ProgressStyle::none) return;
  std::size_t const padding = drawn_ > line.size() ? drawn_ - line.size() : 0;
  write(text(drawn_ > 0 ? "\r" : "", line, std::string(padding, ' '), '\n'));
  bool const redraw = drawn_ > 0;
  drawn_ = 0;
  if (redraw) draw_bar();
}

/// "epoch 2/10  step 30/469"
FLEET_BODY std::string Progress::position() const {
  return text("epoch ", epoch_ + 1, '/', epochs_, "  step ", done_, steps_ > 0 ? text('/', steps_) : "");
}

/// "loss 0.1234  5230 examples/s  0:32 left"
FLEET_BODY std::string Progress::numbers() const {
  if (measured_ == 0) return {};
  double const seconds = std::max(1e-9, std::chrono::duration<double>(Clock::now() - begun_).count());
  std::string out = text("  loss ", detail::rounded(loss_sum_ / static_cast<double>(measured_), "%.4g"), "  ",
                         detail::rounded(static_cast<double>(examples_) / seconds, "%.0f"), " examples/s  ");
  if (done_ == steps_) return out + detail::as_time(seconds);
  if (steps_ == 0) return out + detail::as_time(seconds) + " so far";
  double const each = seconds / static_cast<double>(done_ - done_before_);
  return out + detail::as_time(each * static_cast<double>(steps_ - done_)) + " left";
}

FLEET_BODY void Progress::draw_bar() {
  std::string const before = position(), after = numbers();
  std::size_t const wide = columns() - 1;  // a full last column would begin a new line
  std::size_t const room = wide > before.size() + after.size() + 4 ? wide - before.size() - after.size() - 4 : 0;
  std::size_t const length = std::min<std::size_t>(room, 40);
  std::string bar;
  if (steps_ > 0 && length >= 5) {
    auto const full = static_cast<std::size_t>(static_cast<double>(length) * static_cast<double>(done_) /
                                               static_cast<double>(steps_));
    bar = text("  [", std::string(std::min(full, length), '='), std::string(length - std::min(full, length), ' '), ']');
  }
  std::string line = text(before, bar, after);
  line.resize(std::min(line.size(), wide));
  std::size_t const drawn = line.size();
  if (drawn < drawn_) line.append(drawn_ - drawn, ' ');
  write(text('\r', line));
  drawn_ = drawn;
}

FLEET_BODY void Progress::print_line(std::string_view results) {
  std::string line = text(position(), numbers(), results.empty() ? "" : "  ", results);
  if (line.size() < drawn_) line.append(drawn_ - line.size(), ' ');
  write(text(drawn_ > 0 ? "\r" : "", line, '\n'));
  drawn_ = 0;
}

FLEET_BODY void Progress::write(std::string_view text) const {
  std::fwrite(text.data(), 1, text.size(), settings_.output);
  std::fflush(settings_.output);
}

FLEET_BODY std::size_t Progress::columns() const {
  winsize size{};
  bool const known = ::ioctl(::fileno(settings_.output), TIOCGWINSZ, &size) == 0 && size.ws_col > 20;
  return known ? size.ws_col : 80;
}

}  // namespace fleet
