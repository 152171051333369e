#pragma once
#include <algorithm>
#include <fleet/core/vectorize.hpp>
#include <fleet/nn/onednn/detail/lowering.hpp>

namespace fleet::nn::onednn::detail {

FLEET_BODY Value lower(Lowering& lowering, Item const&, Flatten const&, std::vector<Value> const& inputs) {
  Shape const shape{std::span<std::int64_t const>{compat::dims(inputs[0].desc)}};
  return lowering.reshaped(inputs[0], Shape{shape[0], static_cast<std::int64_t>(shape.row())});
}

/// sum[i] = one[i] + other[i]; any of them may be the same.
inline void add_up(float const* one, float const* other, float* sum, std::size_t count) {
  for_each_vector(
      count, [](auto& a, auto& b, auto& out) { out = a + b; }, one, other, sum);
}

/// The sum of two values. Both gradients are that of the sum.
class AddOp final : public Op {
 public:
  AddOp(Lowering& lowering, Value const& one, Value const& other, Value const& sum, bool copies)
      : buffers_(lowering.buffers()), one_(one), other_(other), sum_(sum), copies_(copies) {
    lowering.reads(one, false);
    lowering.reads(other, false);
    lowering.uses_gradients(one, sum);
    lowering.uses_gradients(other, sum);
  }
  void forward(Run&) override {
    add_up(buffers_.data(one_.data), buffers_.data(other_.data), buffers_.data(sum_.data), count());
  }
  void backward(Run&) override {
    if (copies_) std::copy_n(buffers_.data(one_.gradient), count(), buffers_.data(other_.gradient));
  }

 private:
  std::size_t count() const { return sum_.desc.get_size() / sizeof(float); }

  Buffers& buffers_;
  Value one_, other_, sum_;
  bool copies_;
};

FLEET_BODY Value lower(Lowering& lowering, Item const&, Add const&, std::vector<Value> const& inputs) {
  auto const& one = inputs[0];
  auto const other = lowering.in_layout(inputs[1], one.desc);
  auto sum = lowering.make(one.desc, one.wants_gradient() || other.wants_gradient());
  bool const both = one.wants_gradient() && other.wants_gradient();
  bool const copies = both && (one.overwrites_gradient || other.overwrites_gradient);
  if (one.wants_gradient()) lowering.buffers().merge(one.gradient, sum.gradient);
  if (other.wants_gradient() && !copies) lowering.buffers().merge(other.gradient, sum.gradient);
  sum.overwrites_gradient = one.overwrites_gradient || other.overwrites_gradient;
  lowering.add<AddOp>(lowering, one, other, sum, copies);
  return sum;
}

/// Hands a value to several readers; its gradient is the sum of theirs.
class ForkOp final : public Op {
 public:
  ForkOp(Lowering& lowering, Value const& value, std::vector<Value> readers)
      : buffers_(lowering.buffers()), value_(value), readers_(std::move(readers)) {
    for (auto const& reader : readers_) lowering.uses_gradients(value, reader);
  }
  void forward(Run&) override {}
  void backward(Run&) override {
    auto* const sum = buffers_.data(value_.gradient);
    auto const count = value_.desc.get_size() / sizeof(float);
    add_up(buffers_.data(readers_[0].gradient), buffers_.data(readers_[1].gradient), sum, count);
    for (std::size_t i = 2; i < readers_.size(); ++i) add_up(sum, buffers_.data(readers_[i].gradient), sum, count);
  }

 private:
  Buffers& buffers_;
  Value value_;
  std::vector<Value> readers_;
};

FLEET_BODY std::vector<Value> lower_fork(Lowering& lowering, Value const& value, std::size_t readers) {
  std::vector<Value> copies(readers, value);
  for (auto& copy : copies) {
    copy.gradient = lowering.buffers().make(value.desc.get_size());
    copy.overwrites_gradient = false;
  }
  lowering.add<ForkOp>(lowering, value, copies);
  return copies;
}

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
