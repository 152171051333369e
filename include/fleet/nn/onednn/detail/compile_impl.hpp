#pragma once
#include <algorithm>
#include <fleet/core/error.hpp>
#include <fleet/nn/onednn/detail/lowering.hpp>

namespace fleet::nn::onednn::detail {

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
