#pragma once
#include <algorithm>
#include <fleet/core/error.hpp>
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

/// Which nodes are fused into which.
class Fusion {
 public:
  Fusion(Graph const& graph, std::vector<Shape> const& shapes)
      : graph_(graph), shapes_(shapes), readers_(graph.nodes.size() + 1), taken_(graph.nodes.size()) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      for (auto const value : graph.nodes[i].inputs) readers_[value].push_back(i);
  }

  struct Step {
    Item item;
    std::vector<std::size_t> inputs;
    std::size_t output;
  };

  std::vector<Step> steps() {
    std::vector<Step> steps;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (taken_[i]) continue;
      Node const* node = &graph_.nodes[i];
      Step step{{node, Activation::none, i, shapes_[i + 1]}, node->inputs, i + 1};
      if (auto const pool = pool_behind(i); pool != none) {  // max(relu(x)) = relu(max(x)), on fewer elements
        step = {{&graph_.nodes[pool], Activation::relu, pool, shapes_[pool + 1]}, node->inputs, pool + 1};
        taken_[pool] = true;
      } else if (std::holds_alternative<Linear>(node->operation) || std::holds_alternative<Conv2d>(node->operation)) {
        if (auto const next = only_reader(i + 1); next != none && pool_behind(next) == none) {
          step.item.activation = activation(graph_.nodes[next].operation);
          if (step.item.activation != Activation::none) {
            step.output = next + 1;
            taken_[next] = true;
          }
        }
      }
      steps.push_back(std::move(step));
    }
    return steps;
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  std::size_t only_reader(std::size_t value) const {
    return readers_[value].size() == 1 && value != graph_.output ? readers_[value][0] : none;
  }
  /// The max pooling that alone reads this ReLU.
  std::size_t pool_behind(std::size_t node) const {
    if (!std::holds_alternative<ReLU>(graph_.nodes[node].operation)) return none;
    auto const next = only_reader(node + 1);
    return next != none && std::holds_alternative<MaxPool2d>(graph_.nodes[next].operation) ? next : none;
  }
  static Activation activation(Operation const& operation) {
    if (std::holds_alternative<ReLU>(operation)) return Activation::relu;
    if (std::holds_alternative<Tanh>(operation)) return Activation::tanh;
    if (std::holds_alternative<Sigmoid>(operation)) return Activation::sigmoid;
    return Activation::none;
  }

  Graph const& graph_;
  std::vector<Shape> const& shapes_;
  std::vector<std::vector<std::size_t>> readers_;  ///< of each value
  std::vector<bool> taken_;
};

inline Value lower_step(Lowering& lowering, Item const& item, std::vector<Value> const& inputs) {
  try {
    return std::visit([&](auto const& operation) { return lower(lowering, item, operation, inputs); },
                      item.node->operation);
  } catch (dnnl::error const& error) {
    throw Error(fleet::text("fleet: oneDNN cannot compute layer ", item.node->name, ", ", text(item.node->operation),
                            ", which gives ", item.shape.text(), ": ", error.what(), "; change its settings"));
  }
}

FLEET_BODY std::unique_ptr<Plan> compile(Graph const& graph, LossFunction const* loss, Shape const& input,
                                         std::span<Parameter const> parameters, dnnl::engine const& engine) {
  auto const shapes = infer_shapes(graph, input);
  auto plan = std::make_unique<Plan>(engine);
  Lowering lowering{*plan, engine, parameters, loss != nullptr};
  plan->input = plan->buffers.make_outside(nullptr);

  auto const steps = Fusion{graph, shapes}.steps();
  std::vector<std::size_t> readers(shapes.size());
  for (auto const& step : steps)
    for (auto const value : step.inputs) ++readers[value];

  // The copies of a value that its readers take, one each.
  std::vector<std::vector<Value>> values(shapes.size());
  auto const hand_out = [&](std::size_t place, Value const& value) {
    if (readers[place] > 1 && value.wants_gradient())
      values[place] = lower_fork(lowering, value, readers[place]);
    else
      values[place].assign(std::max<std::size_t>(readers[place], 1), value);
  };
  hand_out(0, Value{.desc = plain_desc(input), .data = plan->input});
  for (auto const& step : steps) {
    std::vector<Value> inputs;
    for (auto const value : step.inputs) {
      inputs.push_back(values[value].back());
      values[value].pop_back();
    }
    hand_out(step.output, lower_step(lowering, step.item, inputs));
  }
  auto const output = lowering.plain(values[graph.output].back());
  plan->output = output.data;
  plan->output_shape = shapes[graph.output];
  if (loss) lower_loss(lowering, *loss, output, plan->output_shape);
  plan->buffers.use(output.data, loss ? forward_time(plan->ops.size()) : backward_time(0));
  plan->arena_bytes = plan->buffers.lay_out();
  return plan;
}

}  // namespace fleet::nn::onednn::detail
