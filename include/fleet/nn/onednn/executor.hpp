#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include <fleet/nn/executor.hpp>
#include <fleet/nn/onednn/network.hpp>

namespace fleet::nn {

/// A network and a loss, compiled with oneDNN. Parameters are laid out and get their first values at once; a batch of
/// a new shape makes a plan, once: shapes inferred, layouts and primitives picked, buffers placed. A step with a known
/// shape allocates nothing but what oneDNN does inside a call. For one thread at a time; parameters stay where they
/// are for the life of the executor, also when it is moved.
template <class Network, class Loss>
class Executor {
 public:
  static_assert(is_loss<Loss>,
                "fleet: this is no loss. Use nn::SoftmaxCrossEntropy, nn::SigmoidCrossEntropy or "
                "nn::MeanSquaredError.");

  explicit Executor(Network const& network, Loss const& loss = {}, ExecutorOptions const& options = {})
      : network_(describe(network), LossFunction{loss}, options) {}

  /// In the order of the layers.
  std::span<Parameter> parameters() { return network_.parameters(); }
  /// All values, and all gradients, each side by side without gaps and in the same order: that in which gradients
  /// become final, from the last layer to the first.
  std::span<float> flat_values() { return network_.flat_values(); }
  std::span<float> flat_gradients() { return network_.flat_gradients(); }
  /// States that are saved with the parameters but not trained by gradients.
  std::span<Buffer> buffers() { return network_.buffers(); }

  /// Writes the gradients of the mean loss over the batch, times the scale, and returns the mean loss. Calls
  /// `gradient_ready(i)` as soon as the gradient of parameter i is final. Throws ContractError, before anything runs,
  /// where the batch does not fit the network.
  template <NetworkBatch Batch>
  float forward_backward(Batch const& batch, LossScale scale, GradientReady gradient_ready) {
    return network_.forward_backward(view_of(batch), scale, gradient_ready);
  }
  template <NetworkBatch Batch>
  float forward_backward(Batch const& batch, GradientReady gradient_ready) {
    return forward_backward(batch, LossScale{}, gradient_ready);
  }
  template <NetworkBatch Batch>
  float forward_backward(Batch const& batch, LossScale scale = {}) {
    return forward_backward(batch, scale, [](std::size_t) {});
  }

  /// What the network gives for `batch.inputs`, without dropout; valid until the next call.
  template <NetworkBatch Batch>
  Output predict(Batch const& batch) {
    return network_.predict(view_of(batch));
  }

  /// The number of calls of forward_backward so far; with it and the seed, all of the random state. A resumed run sets
  /// it and continues bit for bit.
  std::uint64_t step() const { return network_.step(); }
  void set_step(std::uint64_t step) { network_.set_step(step); }

  /// What a checkpoint needs besides the parameters.
  template <class Archive>
  void archive(Archive& archive) {
    for (auto& buffer : buffers()) archive("buffers/" + buffer.name, buffer.values);
    auto step = network_.step();
    archive("network_step", step);
    if constexpr (Archive::loading) network_.set_step(step);
  }

 private:
  onednn::CompiledNetwork network_;
};

template <class Network, class Loss>
Executor(Network, Loss, ExecutorOptions) -> Executor<Network, Loss>;
template <class Network, class Loss>
Executor(Network, Loss) -> Executor<Network, Loss>;

}  // namespace fleet::nn
