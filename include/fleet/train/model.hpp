#pragma once
#include <concepts>
#include <iterator>
#include <ranges>
#include <utility>
#include <vector>

#include <fleet/tensor/backward.hpp>
#include <fleet/tensor/parameter.hpp>

namespace fleet {

/// Where a model's parameters lie: a range of Parameter, the same names, shapes and order on every worker.
template <class M>
concept has_parameters = requires(M& model) {
  { *std::begin(model.parameters()) } -> std::convertible_to<Parameter>;
};

namespace detail {

template <class M, class Batch>
concept takes_batch = requires(M& m, Batch const& b) {
  { m.forward_backward(b) } -> std::convertible_to<float>;
};
template <class M, class Batch>
concept takes_ready = requires(M& m, Batch const& b, GradientReady ready) {
  { m.forward_backward(b, ready) } -> std::convertible_to<float>;
};
template <class M, class Batch>
concept takes_scale = requires(M& m, Batch const& b, LossScale scale) {
  { m.forward_backward(b, scale) } -> std::convertible_to<float>;
};
template <class M, class Batch>
concept takes_scale_and_ready = requires(M& m, Batch const& b, LossScale scale, GradientReady ready) {
  { m.forward_backward(b, scale, ready) } -> std::convertible_to<float>;
};

}  // namespace detail

/// One forward and backward pass: `forward_backward(batch) -> mean loss`, which writes mean gradients. Two arguments
/// more are optional, in this order: a LossScale, which multiplies the loss before the backward pass, and a
/// GradientReady, called as soon as a gradient is final.
template <class M, class Batch>
concept model_of = has_parameters<M> &&(detail::takes_batch<M, Batch> || detail::takes_ready<M, Batch> ||
                                        detail::takes_scale<M, Batch> || detail::takes_scale_and_ready<M, Batch>);

/// Whether the model itself tells which gradients are final; one that does may leave parameters out of a pass.
template <class M, class Batch>
constexpr bool reports_gradients = detail::takes_ready<M, Batch> || detail::takes_scale_and_ready<M, Batch>;

/// Calls the richest form that the model has.
template <class M, class Batch>
float forward_backward(M& model, Batch const& batch, [[maybe_unused]] LossScale scale,
                       [[maybe_unused]] GradientReady ready) {
  static_assert(model_of<M, Batch>,
                "fleet: a model needs forward_backward(batch) -> float for the batches that step is given. Add that "
                "member, taking this batch type by const reference.");
  if constexpr (detail::takes_scale_and_ready<M, Batch>)
    return model.forward_backward(batch, scale, ready);
  else if constexpr (detail::takes_ready<M, Batch>)
    return model.forward_backward(batch, ready);
  else if constexpr (detail::takes_scale<M, Batch>)
    return model.forward_backward(batch, scale);
  else
    return model.forward_backward(batch);
}

/// The model's parameters, asked for once.
template <has_parameters M>
std::vector<Parameter> parameters_of(M& model) {
  auto&& range = model.parameters();
  return {std::begin(range), std::end(range)};
}

}  // namespace fleet
