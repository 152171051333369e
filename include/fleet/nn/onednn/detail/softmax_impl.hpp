#pragma once
#include <fleet/nn/onednn/detail/lowering.hpp>

namespace fleet::nn::onednn::detail {

class SoftmaxOp final : public Op {
 public:
  SoftmaxOp(Lowering& lowering, int axis, Value const& input, Value const& output) {
    auto& buffers = lowering.buffers();
    auto const kind = lowering.training() ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
    auto const description = compat::softmax_forward(lowering.engine(), kind, input.desc, axis, lowering.attributes());
    lowering.reads(input, false);
    auto const result = buffers.memory(output.desc, output.data);
    forward_ = lowering.primitive(description,
                                  {{DNNL_ARG_SRC, buffers.memory(input.desc, input.data)}, {DNNL_ARG_DST, result}},
                                  lowering.forward_now());
    if (!output.wants_gradient()) return;
    buffers.use(output.data, lowering.backward_now());
    lowering.uses_gradients(input, output);
    backward_ = lowering.primitive(
        compat::softmax_backward(lowering.engine(), input.desc, axis, description, lowering.attributes()),
        {{DNNL_ARG_DST, result},
         {DNNL_ARG_DIFF_DST, buffers.memory(output.desc, output.gradient)},
         {DNNL_ARG_DIFF_SRC, buffers.memory(input.desc, input.gradient)}},
        lowering.backward_now());
  }

  void forward(Run& run) override { forward_.execute(run.stream); }
  void backward(Run& run) override {
    if (backward_) backward_.execute(run.stream);
  }

 private:
  Primitive forward_, backward_;
};

FLEET_BODY Value lower(Lowering& lowering, Item const&, Softmax const& layer, std::vector<Value> const& inputs) {
  auto const input = lowering.plain(inputs[0]);
  auto const axes = static_cast<std::int64_t>(compat::dims(input.desc).size());
  auto const output = lowering.make(input.desc, input.wants_gradient());
  lowering.add<SoftmaxOp>(lowering, static_cast<int>(layer.axis < 0 ? layer.axis + axes : layer.axis), input, output);
  return output;
}

}  // namespace fleet::nn::onednn::detail
