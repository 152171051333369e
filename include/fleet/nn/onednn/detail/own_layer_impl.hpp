#pragma once
#include <fleet/nn/onednn/detail/lowering.hpp>

namespace fleet::nn::onednn::detail {

/// A user's own layer, on row-major data.
class OwnOp final : public Op {
 public:
  OwnOp(Lowering& lowering, Item const& item, std::shared_ptr<AnyLayer> layer, Value const& input, Value const& output)
      : buffers_(lowering.buffers()),
        layer_(std::move(layer)),
        indices_(item.node->parameters),
        training_(lowering.training()),
        input_(input),
        output_(output),
        input_shape_(std::span<std::int64_t const>{compat::dims(input.desc)}),
        inputs_(input_shape_.count()),
        outputs_(Shape{std::span<std::int64_t const>{compat::dims(output.desc)}}.count()) {
    for (auto const index : indices_) {
      parameters_.push_back(lowering.parameters()[index].value);
      gradients_.push_back(lowering.parameters()[index].gradient);
    }
    lowering.reads(input, true);
    if (!output.wants_gradient()) return;
    buffers_.use(output.data, lowering.backward_now());
    lowering.uses_gradients(input, output);
  }
  void forward(Run&) override {
    layer_->forward({input_shape_,
                     {buffers_.data(input_.data), inputs_},
                     {buffers_.data(output_.data), outputs_},
                     parameters_,
                     training_});
  }
  void backward(Run& run) override {
    if (!output_.wants_gradient()) return;
    std::span<float> input_gradient;
    if (input_.wants_gradient()) input_gradient = {buffers_.data(input_.gradient), inputs_};
    layer_->backward({input_shape_,
                      {buffers_.data(input_.data), inputs_},
                      {buffers_.data(output_.data), outputs_},
                      {buffers_.data(output_.gradient), outputs_},
                      input_gradient,
                      parameters_,
                      gradients_});
    for (std::size_t i = indices_.size(); i-- > 0;) run.gradient_ready(indices_[i]);
  }

 private:
  Buffers& buffers_;
  std::shared_ptr<AnyLayer> layer_;
  std::vector<std::size_t> indices_;
  bool training_;
  Value input_, output_;
  Shape input_shape_;
  std::size_t inputs_, outputs_;
  std::vector<std::span<float const>> parameters_;
  std::vector<std::span<float>> gradients_;
};

FLEET_BODY Value lower(Lowering& lowering, Item const& item, std::shared_ptr<AnyLayer> const& layer,
                       std::vector<Value> const& inputs) {
  auto const input = lowering.plain(inputs[0]);
  Shape const shape{std::span<std::int64_t const>{compat::dims(input.desc)}};
  auto const output =
      lowering.make(plain_desc(layer->output_shape(shape)), input.wants_gradient() || !item.node->parameters.empty());
  lowering.add<OwnOp>(lowering, item, layer, input, output);
  return output;
}

}  // namespace fleet::nn::onednn::detail
