#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include <fleet/comm/communicator.hpp>
#include <fleet/core/dtype.hpp>
#include <fleet/tensor/strided_view.hpp>

/// The calls of a communicator on views with gaps. Only the view's own elements take part and change; they are packed,
/// in row-major order, and unpacked. Ranks may have different strides, and dense ranks may call the plain form.
namespace fleet::comm {
namespace detail {

template <class T>
std::vector<std::remove_const_t<T>> packed(StridedView<T> const& view) {
  std::vector<std::remove_const_t<T>> out;
  out.reserve(view.shape.count());
  for_each_element(view, [&](auto& element) { out.push_back(element); });
  return out;
}

template <class T>
void unpack(std::vector<T> const& from, StridedView<T> const& view) {
  auto next = from.begin();
  for_each_element(view, [&](T& element) { element = *next++; });
}

/// Calls with the view's elements side by side, and brings back what the call has made of them.
template <class T, class Function>
void on_packed(StridedView<T> const& view, Function&& function) {
  if (view.dense()) return function(std::span{view.data, view.shape.count()});
  auto elements = packed(view);
  function(std::span{elements});
  unpack(elements, view);
}

}  // namespace detail

template <Element T>
void broadcast(Communicator& communicator, StridedView<T> const& view, int root) {
  detail::on_packed(view, [&](std::span<T> data) { communicator.broadcast(data, root); });
}

template <Element T>
void all_reduce(Communicator& communicator, StridedView<T> const& view, ReduceOp op = ReduceOp::sum) {
  detail::on_packed(view, [&](std::span<T> data) { communicator.all_reduce(data, op); });
}

template <Element T>
void reduce(Communicator& communicator, StridedView<T> const& view, int root, ReduceOp op = ReduceOp::sum) {
  detail::on_packed(view, [&](std::span<T> data) { communicator.reduce(data, root, op); });
}

/// As Communicator::scatter: `input` matters on `root` only.
template <Element T>
void scatter(Communicator& communicator, StridedView<T const> const& input, StridedView<T> const& output, int root) {
  auto const all = communicator.rank() == root ? detail::packed(input) : std::vector<T>{};
  detail::on_packed(output, [&](std::span<T> data) { communicator.scatter(std::span<T const>{all}, data, root); });
}

/// As Communicator::gather: `output` matters on `root` only.
template <Element T>
void gather(Communicator& communicator, StridedView<T const> const& input, StridedView<T> const& output, int root) {
  auto const own = detail::packed(input);
  if (communicator.rank() != root) return communicator.gather(std::span<T const>{own}, std::span<T>{}, root);
  detail::on_packed(output, [&](std::span<T> data) { communicator.gather(std::span<T const>{own}, data, root); });
}

}  // namespace fleet::comm
