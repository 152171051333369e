#pragma once
#include <cstdint>

namespace fleet::nn {

/// A number for each axis of an image; one number stands for both: `5`, or `{3, 1}` for three rows and one column.
struct Pair {
  std::int64_t height;
  std::int64_t width;

  constexpr Pair(std::int64_t both)
      : height(both), width(both) {}  // NOLINT(google-explicit-constructor): `.stride = 2`
  constexpr Pair(std::int64_t height_, std::int64_t width_) : height(height_), width(width_) {}

  friend constexpr bool operator==(Pair const&, Pair const&) = default;
};

}  // namespace fleet::nn
