#pragma once
#include <algorithm>
#include <cstring>
#include <fleet/nn/onednn/detail/lowering.hpp>

namespace fleet::nn::onednn::detail {

/// Channels last.
inline compat::Desc channels_last(compat::Dims const& dims) {
  return {dims, dnnl::memory::data_type::f32, dnnl::memory::format_tag::nhwc};
}
inline compat::Desc any_layout(compat::Dims const& dims) {
  return {dims, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any};
}

/// The primitives of one convolution, or none where this oneDNN has only its plain loops.
struct ConvolutionPrimitives {
  dnnl::convolution_forward::primitive_desc forward;
  dnnl::convolution_backward_weights::primitive_desc weights;
  dnnl::convolution_backward_data::primitive_desc data;
  bool fast = false;

  ConvolutionPrimitives(Lowering const& lowering, compat::Convolution convolution, Activation activation,
                        bool data_too) {
    auto const kind = lowering.training() ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
    forward = convolution.forward(lowering.engine(), kind, lowering.attributes(activation));
    fast = is_fast(forward.impl_info_str());
    if (!lowering.training()) return;
    // From here on the layouts are those of the forward pass; the weights are free.
    convolution.source = forward.src_desc(), convolution.result = forward.dst_desc();
    auto const hint = convolution.forward(lowering.engine(), kind, lowering.attributes());
    weights = convolution.backward_weights(lowering.engine(), hint, lowering.attributes());
    fast = fast && is_fast(weights.impl_info_str());
    if (!data_too) return;
    data = convolution.backward_data(lowering.engine(), hint, lowering.attributes());
    fast = fast && is_fast(data.impl_info_str());
  }

 private:
  static bool is_fast(char const* implementation) { return !std::strstr(implementation, "ref"); }
};

/// y = f(conv(x, W) + b). Weights are row-major outside; what oneDNN wants is made in passing.
class Conv2dOp final : public Op {
 public:
  Conv2dOp(Lowering& lowering, Item const& item, ConvolutionPrimitives const& primitives,
           compat::Desc const& weight_desc, bool bias, Value const& input, Value const& output)
      : buffers_(lowering.buffers()),
        activation_(item.activation),
        output_(output),
        parameters_(item.node->parameters) {
    auto const& weight = lowering.parameters()[parameters_[0]];
    auto const now = lowering.forward_now();
    auto const plain_weight = buffers_.memory(weight_desc, buffers_.make_outside(weight.value.data()));
    auto const source = buffers_.memory(input.desc, input.data);
    std::vector<std::pair<int, dnnl::memory>> arguments{
        {DNNL_ARG_SRC, source},
        {DNNL_ARG_WEIGHTS, in_layout(lowering, plain_weight, primitives.forward.weights_desc(), now, forward_reorder_)},
        {DNNL_ARG_DST, buffers_.memory(output.desc, output.data)}};
    compat::Desc bias_desc;
    if (bias) {
      auto const& parameter = lowering.parameters()[parameters_[1]];
      bias_desc = plain_desc(parameter.shape);
      arguments.emplace_back(DNNL_ARG_BIAS, buffers_.memory(bias_desc, buffers_.make_outside(parameter.value.data())));
    }
    forward_ = lowering.primitive(primitives.forward, std::move(arguments), now);
    lowering.reads(input, true);
    if (!lowering.training()) return;

    auto const later = lowering.backward_now();
    if (activation_ != Activation::none) buffers_.use(output.data, later);
    lowering.uses_gradients(input, output);
    auto const gradient = buffers_.memory(output.desc, output.gradient);
    auto const plain_gradient = buffers_.memory(weight_desc, buffers_.make_outside(weight.gradient.data()));
    auto target = plain_gradient;
    if (auto const layout = primitives.weights.diff_weights_desc(); !same_layout(layout, weight_desc)) {
      target = buffers_.memory(layout, lowering.scratch(layout.get_size(), later));
      gradient_reorder_ = lowering.reorder(target, plain_gradient, later);
    }
    arguments = {{DNNL_ARG_SRC, source}, {DNNL_ARG_DIFF_DST, gradient}, {DNNL_ARG_DIFF_WEIGHTS, target}};
    if (bias) {
      auto const buffer = buffers_.make_outside(lowering.parameters()[parameters_[1]].gradient.data());
      arguments.emplace_back(DNNL_ARG_DIFF_BIAS, buffers_.memory(bias_desc, buffer));
    }
    weight_gradient_ = lowering.primitive(primitives.weights, std::move(arguments), later);
    if (!input.wants_gradient()) return;
    input_gradient_ = lowering.primitive(
        primitives.data,
        {{DNNL_ARG_DIFF_DST, gradient},
         {DNNL_ARG_WEIGHTS,
          in_layout(lowering, plain_weight, primitives.data.weights_desc(), later, backward_reorder_)},
         {DNNL_ARG_DIFF_SRC, buffers_.memory(input.desc, input.gradient)}},
        later);
  }

  void forward(Run& run) override {
    if (forward_reorder_) forward_reorder_.execute(run.stream);
    forward_.execute(run.stream);
  }

  void backward(Run& run) override {
    if (activation_ != Activation::none)
      activation_backward(activation_, buffers_.data(output_.data), buffers_.data(output_.gradient),
                          output_.desc.get_size() / sizeof(float));
    weight_gradient_.execute(run.stream);
    if (gradient_reorder_) gradient_reorder_.execute(run.stream);
    for (std::size_t i = parameters_.size(); i-- > 0;) run.gradient_ready(parameters_[i]);
    if (!input_gradient_) return;
    if (backward_reorder_) backward_reorder_.execute(run.stream);
    input_gradient_.execute(run.stream);
  }

 private:
  /// The weights as a primitive wants them at this time: themselves, or a copy that `reorder` makes.
  dnnl::memory in_layout(Lowering& lowering, dnnl::memory const& plain, compat::Desc const& layout, Time time,
                         Primitive& reorder) {
    if (same_layout(plain.get_desc(), layout)) return plain;
    auto copy = buffers_.memory(layout, lowering.scratch(layout.get_size(), time));
    reorder = lowering.reorder(plain, copy, time);
    return copy;
  }

  Buffers& buffers_;
  Activation activation_;
  Value output_;
  std::vector<std::size_t> parameters_;
  Primitive forward_, weight_gradient_, input_gradient_;
  Primitive forward_reorder_, gradient_reorder_, backward_reorder_;
};

/// Blocks of 16 channels suit convolutions whose channels fill them; else the lanes of the rest idle, and channels last
/// is faster. The first of the two that is not left to plain loops.
inline ConvolutionPrimitives pick(Lowering const& lowering, compat::Convolution const& convolution,
                                  Activation activation, bool data_too) {
  auto const source = compat::dims(convolution.source), result = compat::dims(convolution.result);
  auto blocked = convolution, last = convolution;
  blocked.source = any_layout(source), blocked.result = any_layout(result);
  last.source = channels_last(source), last.result = channels_last(result);
  bool const fills = result[1] % 16 == 0 && (source[1] % 16 == 0 || source[1] <= 3);
  ConvolutionPrimitives first{lowering, fills ? blocked : last, activation, data_too};
  if (first.fast) return first;
  ConvolutionPrimitives second{lowering, fills ? last : blocked, activation, data_too};
  return second.fast ? second : first;
}

FLEET_BODY Value lower(Lowering& lowering, Item const& item, Conv2d const& layer, std::vector<Value> const& inputs) {
  auto const& options = layer.options;
  auto const f32 = dnnl::memory::data_type::f32;
  auto const groups = options.groups;
  compat::Dims weights{layer.out_channels, layer.in_channels / groups, layer.kernel.height, layer.kernel.width};
  if (groups > 1) {
    weights[0] /= groups;
    weights.insert(weights.begin(), groups);
  }
  compat::Convolution const convolution{
      .source = inputs[0].desc,
      .weights = any_layout(weights),
      .bias = options.bias ? compat::Desc{{layer.out_channels}, f32, {1}} : compat::Desc{},
      .result = any_layout(dims(item.shape)),
      .stride = {options.stride.height, options.stride.width},
      .dilation = {options.dilation.height - 1, options.dilation.width - 1},
      .padding = {options.padding.height, options.padding.width}};
  auto const primitives = pick(lowering, convolution, item.activation, inputs[0].wants_gradient());
  auto const input = lowering.in_layout(inputs[0], primitives.forward.src_desc());
  auto output = lowering.make(primitives.forward.dst_desc(), true);
  output.overwrites_gradient = item.activation != Activation::none;
  lowering.add<Conv2dOp>(lowering, item, primitives, plain_desc(weights), options.bias, input, output);
  return output;
}

}  // namespace fleet::nn::onednn::detail
