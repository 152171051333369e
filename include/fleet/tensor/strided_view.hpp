#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <fleet/tensor/shape.hpp>

namespace fleet {

/// Elements that belong to somebody else, at `data[sum over axes of index * stride]`; strides count elements.
template <class T>
struct StridedView {
  T* data = nullptr;
  Shape shape;
  std::array<std::int64_t, Shape::max_axes> strides{};

  /// Whether the elements lie side by side in row-major order.
  bool dense() const {
    std::int64_t expected = 1;
    for (std::size_t axis = shape.axes(); axis-- > 0;) {
      if (shape[axis] != 1 && strides[axis] != expected) return false;
      expected *= shape[axis];
    }
    return true;
  }
};

/// A one-dimensional view of every `stride`-th element.
template <class T>
StridedView<T> strided(T* data, std::size_t count, std::int64_t stride) {
  return {data, Shape{static_cast<std::int64_t>(count)}, {stride}};
}

/// Calls `function(T&)` for each element in row-major order.
template <class T, class Function>
void for_each_element(StridedView<T> const& view, Function&& function) {
  std::array<std::int64_t, Shape::max_axes> index{};
  auto const count = view.shape.count();
  T* at = view.data;
  for (std::size_t done = 0; done < count; ++done) {
    function(*at);
    for (std::size_t axis = view.shape.axes(); axis-- > 0;) {
      at += view.strides[axis];
      if (++index[axis] < view.shape[axis]) break;
      at -= view.strides[axis] * index[axis];
      index[axis] = 0;
    }
  }
}

}  // namespace fleet
