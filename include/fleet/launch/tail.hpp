#pragma once
#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

namespace fleet::launch {

/// Remembers the last lines of a stream.
class Tail {
 public:
  static constexpr std::size_t lines_kept = 20, line_bytes = 2000;

  void add(std::string_view line) {
    if (lines_.size() == lines_kept) lines_.pop_front();
    lines_.emplace_back(line.substr(0, line_bytes));
  }
  std::deque<std::string> const& lines() const { return lines_; }

 private:
  std::deque<std::string> lines_;
};

}  // namespace fleet::launch
