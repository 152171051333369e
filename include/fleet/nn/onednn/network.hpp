#pragma once
#include <cstdint>
#include <memory>
#include <span>

#include <fleet/core/config.hpp>
#include <fleet/nn/batch_view.hpp>
#include <fleet/nn/executor.hpp>
#include <fleet/nn/graph.hpp>
#include <fleet/nn/loss.hpp>
#include <fleet/tensor/backward.hpp>
#include <fleet/tensor/parameter.hpp>

namespace fleet::nn::onednn {

/// The executor without its types: the graph, its parameters, and a plan for each batch shape met so far.
class CompiledNetwork {
 public:
  CompiledNetwork(Graph graph, LossFunction const& loss, ExecutorOptions const& options);
  CompiledNetwork(CompiledNetwork&&) noexcept;
  CompiledNetwork& operator=(CompiledNetwork&&) noexcept;
  ~CompiledNetwork();

  std::span<Parameter> parameters();
  std::span<float> flat_values();
  std::span<float> flat_gradients();
  std::span<Buffer> buffers();
  float forward_backward(BatchView const& batch, LossScale scale, GradientReady gradient_ready);
  Output predict(BatchView const& batch);
  std::uint64_t step() const;
  void set_step(std::uint64_t step);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fleet::nn::onednn

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/nn/onednn/detail/network_impl.hpp>  // IWYU pragma: export
#endif
