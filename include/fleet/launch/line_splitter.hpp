#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include <fleet/core/function_ref.hpp>

namespace fleet::launch {

/// Cuts a stream that comes in pieces into whole lines.
class LineSplitter {
 public:
  /// A longer line is passed on in parts of this size, so that a stream without line ends needs bounded memory.
  static constexpr std::size_t longest = std::size_t{1} << 20;

  using OnLine = FunctionRef<void(std::string_view)>;  ///< gets each line without its end

  void feed(std::string_view piece, OnLine on_line) {
    while (true) {
      auto const end = piece.find('\n');
      if (end == std::string_view::npos) break;
      if (rest_.empty()) {
        on_line(piece.substr(0, end));
      } else {
        rest_ += piece.substr(0, end);
        on_line(rest_);
        rest_.clear();
      }
      piece.remove_prefix(end + 1);
    }
    rest_ += piece;
    if (rest_.size() >= longest) finish(on_line);
  }

  /// The stream is over: passes on a last line that has no end.
  void finish(OnLine on_line) {
    if (rest_.empty()) return;
    on_line(rest_);
    rest_.clear();
  }

 private:
  std::string rest_;
};

}  // namespace fleet::launch
