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

/// Compiles the graph for a batch shape: for training with the loss behind it, else without (no loss given).
std::unique_ptr<Plan> compile(Graph const& graph, LossFunction const* loss, Shape const& input,
                              std::span<Parameter const> parameters, dnnl::engine const& engine);

}  // namespace fleet::nn::onednn::detail

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/nn/onednn/detail/lowering_impl.hpp>  // IWYU pragma: export
#endif
