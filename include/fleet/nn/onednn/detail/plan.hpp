#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <fleet/core/config.hpp>
#include <fleet/nn/executor.hpp>
#include <fleet/nn/graph.hpp>
#include <fleet/nn/loss.hpp>
#include <fleet/nn/onednn/detail/buffers.hpp>
#include <fleet/nn/onednn/detail/op.hpp>
#include <fleet/tensor/parameter.hpp>

namespace fleet::nn::onednn::detail {

/// A network compiled for one batch shape: operations in order, and where their data lies.
struct Plan {
  explicit Plan(dnnl::engine const& engine) : buffers(engine) {}

  Buffers buffers;
  std::vector<std::unique_ptr<Op>> ops;
  BufferId input = no_buffer;
  BufferId output = no_buffer;  ///< row-major
  Shape output_shape;
  std::size_t arena_bytes = 0;
  std::byte* arena = nullptr;  ///< what the buffers are bound to
};

}  // namespace fleet::nn::onednn::detail
