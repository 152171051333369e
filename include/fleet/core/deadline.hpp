#pragma once
#include <algorithm>
#include <chrono>
#include <compare>

namespace fleet {

/// A point in time by which a wait must have ended. Every wait of the library takes one.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Deadline(Clock::time_point at) : at_(at) {}
  static Deadline after(std::chrono::milliseconds timeout) { return Deadline{Clock::now() + timeout}; }

  bool passed() const { return Clock::now() >= at_; }
  Clock::time_point at() const { return at_; }
  /// Never negative, and rounded up, so that a wait of this length does not end too early.
  std::chrono::milliseconds remaining() const {
    return std::max(std::chrono::milliseconds{0}, std::chrono::ceil<std::chrono::milliseconds>(at_ - Clock::now()));
  }

  friend auto operator<=>(Deadline, Deadline) = default;

 private:
  Clock::time_point at_;
};

}  // namespace fleet
