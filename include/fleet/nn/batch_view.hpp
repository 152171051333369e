#pragma once
#include <concepts>
#include <cstdint>
#include <span>

#include <fleet/tensor/shape.hpp>

namespace fleet::nn {

/// Where the parts of a batch lie.
struct BatchView {
  Shape input_shape;
  float const* inputs = nullptr;
  std::span<std::int64_t const> labels{};
  std::span<float const> targets{};
};

/// A batch for networks: `inputs`, a dense tensor of floats with the samples on the first axis; beside it, as the loss
/// needs, `labels` (64-bit integers) or `targets` (floats).
template <class Batch>
concept NetworkBatch = requires(Batch const& batch) {
  { batch.inputs.shape() } -> std::convertible_to<Shape>;
  { batch.inputs.data() } -> std::convertible_to<float const*>;
};

template <NetworkBatch Batch>
BatchView view_of(Batch const& batch) {
  BatchView view{.input_shape = batch.inputs.shape(), .inputs = batch.inputs.data()};
  if constexpr (requires { std::span<std::int64_t const>{batch.labels.data(), batch.labels.size()}; })
    view.labels = {batch.labels.data(), batch.labels.size()};
  if constexpr (requires { std::span<float const>{batch.targets.data(), batch.targets.size()}; })
    view.targets = {batch.targets.data(), batch.targets.size()};
  return view;
}

}  // namespace fleet::nn
