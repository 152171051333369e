#pragma once
#include <fleet/core/vectorize.hpp>
#include <fleet/nn/onednn/detail/lowering.hpp>

namespace fleet::nn::onednn::detail {

class DropoutOp final : public Op {
 public:
  DropoutOp(Lowering& lowering, Dropout const& layer, Value const& input, Value const& output, std::uint64_t place)
      : buffers_(lowering.buffers()),
        place_(place),
        drop_below_(static_cast<std::uint32_t>(static_cast<double>(layer.probability) * 4294967296.0)),
        scale_(layer.mode == DropoutMode::upscale_in_train ? 1 / (1 - layer.probability) : 1),
        count_(input.desc.get_size() / sizeof(float)),
        input_(input),
        output_(output),
        mask_(buffers_.make((count_ + 1) * sizeof(float))) {
    lowering.reads(input, false);
    buffers_.use(mask_, lowering.forward_now());
    if (!output.wants_gradient()) return;
    buffers_.use(mask_, lowering.backward_now());
    lowering.uses_gradients(input, output);
  }

  void forward(Run& run) override {
    auto const random = run.random.split(place_);
    auto* const mask = buffers_.data(mask_);
    for (std::size_t i = 0; i < count_; i += 2) {
      auto const bits = random.at(i);
      mask[i] = static_cast<std::uint32_t>(bits) >= drop_below_ ? scale_ : 0;
      mask[i + 1] = static_cast<std::uint32_t>(bits >> 32) >= drop_below_ ? scale_ : 0;
    }
    apply(buffers_.data(input_.data), buffers_.data(output_.data));
  }
  void backward(Run&) override {
    if (output_.wants_gradient()) apply(buffers_.data(output_.gradient), buffers_.data(input_.gradient));
  }

 private:
  void apply(float const* from, float* to) const {
    for_each_vector(
        count_, [](auto& x, auto& mask, auto& y) { y = x * mask; }, from,
        static_cast<float const*>(buffers_.data(mask_)), to);
  }

  Buffers& buffers_;
  std::uint64_t place_;
  std::uint32_t drop_below_;
  float scale_;
  std::size_t count_;
  Value input_, output_;
  BufferId mask_;  ///< 0, or the factor of those that are kept
};

/// Inference under downscale_in_infer.
class ScaleOp final : public Op {
 public:
  ScaleOp(Lowering& lowering, float factor, Value const& input, Value const& output)
      : buffers_(lowering.buffers()), factor_(factor), input_(input), output_(output) {
    lowering.reads(input, false);
  }
  void forward(Run&) override {
    for_each_vector(
        input_.desc.get_size() / sizeof(float), [factor = factor_](auto& x, auto& y) { y = x * factor; },
        static_cast<float const*>(buffers_.data(input_.data)), buffers_.data(output_.data));
  }

 private:
  Buffers& buffers_;
  float factor_;
  Value input_, output_;
};

FLEET_BODY Value lower(Lowering& lowering, Item const& item, Dropout const& layer, std::vector<Value> const& inputs) {
  auto const& input = inputs[0];
  if (!lowering.training() && layer.mode == DropoutMode::upscale_in_train) return input;
  auto output = lowering.make(input.desc, input.wants_gradient());
  if (!lowering.training()) {
    lowering.add<ScaleOp>(lowering, 1 - layer.probability, input, output);
    return output;
  }
  if (output.wants_gradient()) {
    output.overwrites_gradient = true;
    lowering.buffers().merge(input.gradient, output.gradient);
  }
  lowering.add<DropoutOp>(lowering, layer, input, output, item.place);
  return output;
}

}  // namespace fleet::nn::onednn::detail
