#pragma once
#include <algorithm>
#include <fleet/nn/onednn/detail/lowering.hpp>

namespace fleet::nn::onednn::detail {

inline compat::Dims dims(Pair const& pair) { return {pair.height, pair.width}; }

/// Pooling in the layout of its input, with ReLU behind it where that was before.
class Pool2dOp final : public Op {
 public:
  Pool2dOp(Lowering& lowering, Activation activation, compat::Pooling pooling, Value const& input, Value const& output)
      : buffers_(lowering.buffers()), activation_(activation), output_(output) {
    pooling.result = output.desc;
    bool const backward = output.wants_gradient();
    auto const kind = backward ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
    auto const description = pooling.forward(lowering.engine(), kind, lowering.attributes(activation));
    lowering.reads(input, false);
    std::vector<std::pair<int, dnnl::memory>> forward{{DNNL_ARG_SRC, buffers_.memory(input.desc, input.data)},
                                                      {DNNL_ARG_DST, buffers_.memory(output.desc, output.data)}};
    std::vector<std::pair<int, dnnl::memory>> arguments;
    if (auto const workspace = description.workspace_desc(); backward && workspace.get_size() != 0) {
      auto const buffer = lowering.scratch(workspace.get_size(), lowering.forward_now());
      buffers_.use(buffer, lowering.backward_now());
      forward.emplace_back(DNNL_ARG_WORKSPACE, buffers_.memory(workspace, buffer));
      arguments.push_back(forward.back());
    }
    forward_ = lowering.primitive(description, std::move(forward), lowering.forward_now());
    if (!backward) return;
    lowering.uses_gradients(input, output);
    if (activation_ != Activation::none) buffers_.use(output.data, lowering.backward_now());
    // The hint must be without what is fused.
    auto const hint = pooling.forward(lowering.engine(), kind, lowering.attributes());
    arguments.emplace_back(DNNL_ARG_DIFF_DST, buffers_.memory(output.desc, output.gradient));
    arguments.emplace_back(DNNL_ARG_DIFF_SRC, buffers_.memory(input.desc, input.gradient));
    backward_ = lowering.primitive(pooling.backward(lowering.engine(), hint, lowering.attributes()),
                                   std::move(arguments), lowering.backward_now());
  }

  void forward(Run& run) override { forward_.execute(run.stream); }
  void backward(Run& run) override {
    if (!backward_) return;
    if (activation_ != Activation::none)
      activation_backward(activation_, buffers_.data(output_.data), buffers_.data(output_.gradient),
                          output_.desc.get_size() / sizeof(float));
    backward_.execute(run.stream);
  }

 private:
  Buffers& buffers_;
  Activation activation_;
  Value output_;
  Primitive forward_, backward_;
};

template <class Pool>
Value lower_pool(Lowering& lowering, Item const& item, Pool const& layer, dnnl::algorithm algorithm,
                 Value const& input) {
  auto const& options = layer.options;
  Pair const stride{options.stride.height ? options.stride.height : layer.kernel.height,
                    options.stride.width ? options.stride.width : layer.kernel.width};
  auto const& shape = item.shape;
  auto const in = compat::dims(input.desc);
  auto const beyond = [](std::int64_t extent, std::int64_t out, std::int64_t step, std::int64_t kernel,
                         std::int64_t padding) {
    return std::max<std::int64_t>(0, (out - 1) * step + kernel - extent - padding);
  };
  compat::Pooling const pooling{
      .algorithm = algorithm,
      .source = input.desc,
      .result = {dims(shape), dnnl::memory::data_type::f32, dnnl::memory::format_tag::any},
      .stride = dims(stride),
      .kernel = dims(layer.kernel),
      .padding_begin = dims(options.padding),
      .padding_end = {beyond(in[2], shape[2], stride.height, layer.kernel.height, options.padding.height),
                      beyond(in[3], shape[3], stride.width, layer.kernel.width, options.padding.width)}};
  auto const layout = pooling.forward(lowering.engine(), dnnl::prop_kind::forward_inference, lowering.attributes());
  auto output = lowering.make(layout.dst_desc(), input.wants_gradient());
  output.overwrites_gradient = item.activation != Activation::none;
  lowering.add<Pool2dOp>(lowering, item.activation, pooling, input, output);
  return output;
}

FLEET_BODY Value lower(Lowering& lowering, Item const& item, MaxPool2d const& layer, std::vector<Value> const& inputs) {
  return lower_pool(lowering, item, layer, dnnl::algorithm::pooling_max, inputs[0]);
}
FLEET_BODY Value lower(Lowering& lowering, Item const& item, AvgPool2d const& layer, std::vector<Value> const& inputs) {
  auto const algorithm = layer.options.exclusive ? dnnl::algorithm::pooling_avg_exclude_padding
                                                 : dnnl::algorithm::pooling_avg_include_padding;
  return lower_pool(lowering, item, layer, algorithm, inputs[0]);
}

}  // namespace fleet::nn::onednn::detail
