#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include <fleet/core/error.hpp>

namespace fleet {

/// The extents of a tensor, outermost first; at most 8 axes. No axis is a scalar (one element).
class Shape {
 public:
  static constexpr std::size_t max_axes = 8;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> extents) : Shape(std::span{extents.begin(), extents.size()}) {}
  explicit Shape(std::span<std::int64_t const> extents) : axes_(extents.size()) {
    if (axes_ > max_axes) throw ContractError(fleet::text("fleet: a shape has at most 8 axes, not ", axes_));
    std::copy(extents.begin(), extents.end(), extents_.begin());
    if (std::any_of(begin(), end(), [](auto extent) { return extent < 0; }))
      throw ContractError("fleet: an extent of shape " + text() + " is negative");
  }

  std::size_t axes() const { return axes_; }
  std::int64_t operator[](std::size_t axis) const { return extents_[axis]; }
  std::int64_t& operator[](std::size_t axis) { return extents_[axis]; }
  std::int64_t const* begin() const { return extents_.data(); }
  std::int64_t const* end() const { return extents_.data() + axes_; }

  /// Number of elements.
  std::size_t count() const {
    std::size_t product = 1;
    for (auto extent : *this) product *= static_cast<std::size_t>(extent);
    return product;
  }
  /// All axes after the first, in one number: elements of a row.
  std::size_t row() const {
    std::size_t product = 1;
    for (std::size_t axis = 1; axis < axes_; ++axis) product *= static_cast<std::size_t>(extents_[axis]);
    return product;
  }
  /// "[100, 1, 28, 28]"
  std::string text() const {
    std::string out = "[";
    for (std::size_t axis = 0; axis < axes_; ++axis) out += fleet::text(axis ? ", " : "", extents_[axis]);
    return out + "]";
  }

  friend bool operator==(Shape const& a, Shape const& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

 private:
  std::array<std::int64_t, max_axes> extents_{};
  std::size_t axes_ = 0;
};

}  // namespace fleet
