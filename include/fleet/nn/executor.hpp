#pragma once
#include <cstdint>
#include <span>
#include <string>

#include <fleet/nn/fwd.hpp>
#include <fleet/tensor/backward.hpp>
#include <fleet/tensor/shape.hpp>

namespace fleet::nn {

struct ExecutorOptions {
  std::uint64_t seed = 1;  ///< of the first values, the same on every rank, and of the dropout masks
  int rank = 0;            ///< dropout masks differ between ranks
};

/// What a network gives for a batch; valid until the executor's next call.
struct Output {
  std::span<float const> values;
  Shape shape;
};

/// A state of the network that is not trained by gradients, such as running statistics; saved with the parameters.
struct Buffer {
  std::string name;
  std::span<float> values;
};

}  // namespace fleet::nn
