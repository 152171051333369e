#pragma once
#include <algorithm>
#include <fleet/nn/onednn/detail/lowering.hpp>

namespace fleet::nn::onednn::detail {

/// y = f(x W^T + b), by matrix products; the derivative of f and the gradient of b are taken in one pass.
class LinearOp final : public Op {
 public:
  LinearOp(Lowering& lowering, Item const& item, Linear const& layer, Value const& input, Value const& output)
      : buffers_(lowering.buffers()),
        activation_(item.activation),
        output_(output),
        columns_(static_cast<std::size_t>(layer.out_features)),
        rows_(static_cast<std::size_t>(compat::dims(output.desc)[0])),
        parameters_(item.node->parameters) {
    auto const rows = compat::dims(input.desc)[0], in = layer.in_features, out = layer.out_features;
    auto const& weight = lowering.parameters()[parameters_[0]];
    bool const bias = layer.options.bias;
    auto const f32 = dnnl::memory::data_type::f32;
    // Seen as [in, out], the row-major weight is transposed.
    compat::Desc const weight_desc{{in, out}, f32, {1, in}};
    compat::Desc const bias_desc = bias ? compat::Desc{{1, out}, f32, {out, 1}} : compat::Desc{};

    auto const description = compat::matmul(lowering.engine(), input.desc, weight_desc, bias_desc, output.desc,
                                            lowering.attributes(activation_));
    auto const weight_buffer = buffers_.make_outside(weight.value.data());
    auto const source = buffers_.memory(input.desc, input.data);
    std::vector<std::pair<int, dnnl::memory>> arguments{{DNNL_ARG_SRC, source},
                                                        {DNNL_ARG_WEIGHTS, buffers_.memory(weight_desc, weight_buffer)},
                                                        {DNNL_ARG_DST, buffers_.memory(output.desc, output.data)}};
    if (bias) {
      auto const& values = lowering.parameters()[parameters_[1]].value;
      arguments.emplace_back(DNNL_ARG_BIAS, buffers_.memory(bias_desc, buffers_.make_outside(values.data())));
    }
    forward_ = lowering.primitive(description, std::move(arguments), lowering.forward_now());
    lowering.reads(input, true);
    if (!lowering.training()) return;

    if (bias) bias_gradient_ = lowering.parameters()[parameters_[1]].gradient.data();
    if (activation_ != Activation::none) buffers_.use(output.data, lowering.backward_now());
    auto const now = lowering.backward_now();
    lowering.uses_gradients(input, output);
    auto const gradient = buffers_.memory(output.desc, output.gradient);
    {
      compat::Desc const transposed{{out, rows}, f32, {1, out}}, result{{out, in}, f32, {in, 1}};
      auto const product = compat::matmul(lowering.engine(), transposed, input.desc, {}, result, lowering.attributes());
      auto const target = buffers_.make_outside(weight.gradient.data());
      weight_gradient_ = lowering.primitive(product,
                                            {{DNNL_ARG_SRC, buffers_.memory(transposed, output.gradient)},
                                             {DNNL_ARG_WEIGHTS, source},
                                             {DNNL_ARG_DST, buffers_.memory(result, target)}},
                                            now);
    }
    if (input.wants_gradient()) {
      compat::Desc const rows_of_weight{{out, in}, f32, {in, 1}};
      auto const product =
          compat::matmul(lowering.engine(), output.desc, rows_of_weight, {}, input.desc, lowering.attributes());
      input_gradient_ = lowering.primitive(product,
                                           {{DNNL_ARG_SRC, gradient},
                                            {DNNL_ARG_WEIGHTS, buffers_.memory(rows_of_weight, weight_buffer)},
                                            {DNNL_ARG_DST, buffers_.memory(input.desc, input.gradient)}},
                                           now);
    }
  }

  void forward(Run& run) override { forward_.execute(run.stream); }

  void backward(Run& run) override {
    if (activation_ != Activation::none || bias_gradient_)
      activation_backward(activation_, buffers_.data(output_.data), buffers_.data(output_.gradient), bias_gradient_,
                          rows_, columns_);
    if (bias_gradient_) run.gradient_ready(parameters_[1]);
    weight_gradient_.execute(run.stream);
    run.gradient_ready(parameters_[0]);
    if (input_gradient_) input_gradient_.execute(run.stream);
  }

 private:
  Buffers& buffers_;
  Activation activation_;
  Value output_;
  std::size_t columns_, rows_;
  std::vector<std::size_t> parameters_;
  float* bias_gradient_ = nullptr;
  Primitive forward_, weight_gradient_, input_gradient_;
};

FLEET_BODY Value lower(Lowering& lowering, Item const& item, Linear const& layer, std::vector<Value> const& inputs) {
  auto const full = compat::dims(inputs[0].desc);
  std::int64_t rows = 1;
  for (std::size_t axis = 0; axis + 1 < full.size(); ++axis) rows *= full[axis];
  auto const input = lowering.reshaped(inputs[0], Shape{rows, layer.in_features});
  auto output = lowering.make(plain_desc(compat::Dims{rows, layer.out_features}), true);
  output.overwrites_gradient = item.activation != Activation::none;
  lowering.add<LinearOp>(lowering, item, layer, input, output);
  if (full.size() == 2) return output;
  Shape shape{std::span<std::int64_t const>{full}};
  shape[shape.axes() - 1] = layer.out_features;
  return lowering.reshaped(output, shape);
}

}  // namespace fleet::nn::onednn::detail
