#pragma once
#include <algorithm>
#include <fleet/nn/onednn/detail/lowering.hpp>

namespace fleet::nn::onednn::detail {

FLEET_BODY compat::Desc plain_desc(compat::Dims const& dims) {
  compat::Dims strides(dims.size());
  std::int64_t stride = 1;
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= std::max<std::int64_t>(dims[axis], 1);
  }
  return {dims, dnnl::memory::data_type::f32, strides};
}

FLEET_BODY bool same_layout(compat::Desc const& one, compat::Desc const& other) {
  if (one == other) return true;
  auto const extents = compat::dims(one);
  auto const strides = compat::plain_strides(one), others = compat::plain_strides(other);
  if (extents != compat::dims(other) || strides.empty() || others.empty()) return false;
  for (std::size_t axis = 0; axis < extents.size(); ++axis)
    if (extents[axis] != 1 && strides[axis] != others[axis]) return false;
  return true;
}

/// Copies a value into another layout, and its gradient back.
class ReorderOp final : public Op {
 public:
  ReorderOp(Lowering& lowering, Value const& input, Value const& output) {
    auto& buffers = lowering.buffers();
    lowering.reads(input, false);
    forward_ = lowering.reorder(buffers.memory(input.desc, input.data), buffers.memory(output.desc, output.data),
                                lowering.forward_now());
    if (!output.wants_gradient()) return;
    lowering.uses_gradients(input, output);
    backward_ = lowering.reorder(buffers.memory(output.desc, output.gradient),
                                 buffers.memory(input.desc, input.gradient), lowering.backward_now());
  }
  void forward(Run& run) override { forward_.execute(run.stream); }
  void backward(Run& run) override {
    if (backward_) backward_.execute(run.stream);
  }

 private:
  Primitive forward_, backward_;
};

FLEET_BODY Value Lowering::make(compat::Desc const& desc, bool wants_gradient) {
  Value value{.desc = desc, .data = buffers().make(desc.get_size())};
  buffers().use(value.data, forward_now());
  if (wants_gradient && training_) value.gradient = buffers().make(desc.get_size());
  return value;
}

FLEET_BODY Value Lowering::in_layout(Value const& value, compat::Desc const& desc) {
  if (same_layout(value.desc, desc)) {
    Value same = value;
    same.desc = desc;
    return same;
  }
  auto const result = make(desc, value.wants_gradient());
  add<ReorderOp>(*this, value, result);
  return result;
}

FLEET_BODY Value Lowering::plain(Value const& value) { return in_layout(value, plain_desc(compat::dims(value.desc))); }

FLEET_BODY Value Lowering::reshaped(Value const& value, Shape const& shape) {
  auto result = plain(value);
  result.desc = plain_desc(shape);
  return result;
}

FLEET_BODY void Lowering::reads(Value const& value, bool again) {
  buffers().use(value.data, forward_now());
  if (again && training_) buffers().use(value.data, backward_now());
}

FLEET_BODY void Lowering::uses_gradients(Value const& input, Value const& output) {
  if (output.wants_gradient()) buffers().use(output.gradient, backward_now());
  if (input.wants_gradient()) buffers().use(input.gradient, backward_now());
}

FLEET_BODY BufferId Lowering::scratch(std::size_t bytes, Time time) {
  auto const buffer = buffers().make(bytes);
  buffers().use(buffer, time);
  return buffer;
}

FLEET_BODY dnnl::primitive_attr Lowering::attributes(Activation activation) const {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (activation == Activation::none) return attributes;
  dnnl::post_ops operations;
  compat::append_eltwise(operations, activation == Activation::relu   ? dnnl::algorithm::eltwise_relu
                                     : activation == Activation::tanh ? dnnl::algorithm::eltwise_tanh
                                                                      : dnnl::algorithm::eltwise_logistic);
  attributes.set_post_ops(operations);
  return attributes;
}

FLEET_BODY Primitive Lowering::reorder(dnnl::memory const& from, dnnl::memory const& to, Time time) {
  dnnl::reorder::primitive_desc const description{engine_, from.get_desc(), engine_, to.get_desc(), attributes()};
  return primitive(description, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}, time);
}

FLEET_BODY Value lower(Lowering& lowering, Item const&, Flatten const&, std::vector<Value> const& inputs) {
  Shape const shape{std::span<std::int64_t const>{compat::dims(inputs[0].desc)}};
  return lowering.reshaped(inputs[0], Shape{shape[0], static_cast<std::int64_t>(shape.row())});
}

}  // namespace fleet::nn::onednn::detail
