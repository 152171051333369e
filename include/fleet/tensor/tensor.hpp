#pragma once
#include <cstddef>
#include <span>

#include <fleet/core/aligned.hpp>
#include <fleet/tensor/shape.hpp>

namespace fleet {

/// A dense row-major array that owns its elements. Reshaping to fewer elements keeps the memory, so that a buffer
/// used again and again allocates once.
template <class T>
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(Shape const& shape) { reshape(shape); }

  Shape const& shape() const { return shape_; }
  std::size_t size() const { return elements_.size(); }
  bool empty() const { return elements_.empty(); }
  T* data() { return elements_.data(); }
  T const* data() const { return elements_.data(); }
  T& operator[](std::size_t i) { return elements_[i]; }
  T const& operator[](std::size_t i) const { return elements_[i]; }
  std::span<T> span() { return elements_; }
  std::span<T const> span() const { return elements_; }

  /// Elements that were there keep their values only if their number stays the same.
  void reshape(Shape const& shape) {
    elements_.resize(shape.count());
    shape_ = shape;
  }

 private:
  Shape shape_{0};
  AlignedVector<T> elements_;
};

}  // namespace fleet
