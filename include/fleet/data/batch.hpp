#pragma once
#include <cstddef>
#include <cstdint>

#include <fleet/tensor/tensor.hpp>

namespace fleet::data {

/// Some samples of a dataset, row by row: inputs [n, ...], with labels [n] or targets [n, ...] or both. What a
/// dataset does not have is empty.
struct Batch {
  Tensor<float> inputs;
  Tensor<std::int64_t> labels;
  Tensor<float> targets;

  /// Number of samples.
  std::size_t size() const { return inputs.shape().axes() ? static_cast<std::size_t>(inputs.shape()[0]) : 0; }
};

}  // namespace fleet::data
