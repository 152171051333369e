#pragma once
#include <algorithm>
#include <fleet/core/aligned.hpp>
#include <fleet/nn/onednn/detail/lowering.hpp>
#include <fleet/nn/onednn/network.hpp>

namespace fleet::nn::onednn {

struct CompiledNetwork::State {
  State(Graph graph_, LossFunction const& loss_, ExecutorOptions const& options_)
      : graph(std::move(graph_)), loss(loss_), options(options_) {
    std::size_t count = 0;
    for (auto const& spec : graph.parameters) count += spec.shape.count();
    values.resize(count), gradients.resize(count);
    std::size_t end = count;
    for (std::size_t i = 0; i < graph.parameters.size(); ++i) {
      auto const& spec = graph.parameters[i];
      end -= spec.shape.count();
      parameters.emplace_back(spec.name, std::span{values}.subspan(end, spec.shape.count()),
                              std::span{gradients}.subspan(end, spec.shape.count()), spec.shape);
      spec.initializer.fill(parameters.back().value, Random{options.seed}.split(i));
    }
  }

  /// The plan for a batch shape, made where there is none, bound to this batch.
  detail::Plan& plan(BatchView const& batch, bool training) {
    auto const known = std::find_if(plans.begin(), plans.end(), [&](auto const& entry) {
      return entry.training == training && entry.shape == batch.input_shape;
    });
    if (known == plans.end()) {
      if (plans.size() == most_plans) plans.erase(plans.begin());
      auto plan = detail::compile(graph, training ? &loss : nullptr, batch.input_shape, parameters, engine);
      if (arena.size() <= plan->arena_bytes) arena.resize(plan->arena_bytes + 1);
      plans.push_back({batch.input_shape, training, std::move(plan)});
    } else if (known + 1 != plans.end()) {  // the last used stands last
      std::rotate(known, known + 1, plans.end());
    }
    auto& plan = *plans.back().plan;
    plan.buffers.place(plan.input, batch.inputs);
    if (plan.arena != arena.data()) plan.buffers.bind(plan.arena = arena.data());
    return plan;
  }

  struct Entry {
    Shape shape;
    bool training;
    std::unique_ptr<detail::Plan> plan;
  };
  static constexpr std::size_t most_plans = 32;

  Graph graph;
  LossFunction loss;
  ExecutorOptions options;
  AlignedVector<float> values, gradients;
  std::vector<Parameter> parameters;
  std::vector<Buffer> buffers;
  std::uint64_t step = 0;
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  AlignedVector<std::byte> arena;  ///< one for all plans: only one runs at a time
  std::vector<Entry> plans;
};

FLEET_BODY CompiledNetwork::CompiledNetwork(Graph graph, LossFunction const& loss, ExecutorOptions const& options)
    : state_(std::make_unique<State>(std::move(graph), loss, options)) {}
FLEET_BODY CompiledNetwork::CompiledNetwork(CompiledNetwork&&) noexcept = default;
FLEET_BODY CompiledNetwork& CompiledNetwork::operator=(CompiledNetwork&&) noexcept = default;
FLEET_BODY CompiledNetwork::~CompiledNetwork() = default;

FLEET_BODY std::span<Parameter> CompiledNetwork::parameters() { return state_->parameters; }
FLEET_BODY std::span<float> CompiledNetwork::flat_values() { return state_->values; }
FLEET_BODY std::span<float> CompiledNetwork::flat_gradients() { return state_->gradients; }
FLEET_BODY std::span<Buffer> CompiledNetwork::buffers() { return state_->buffers; }
FLEET_BODY std::uint64_t CompiledNetwork::step() const { return state_->step; }
FLEET_BODY void CompiledNetwork::set_step(std::uint64_t step) { state_->step = step; }

FLEET_BODY float CompiledNetwork::forward_backward(BatchView const& batch, LossScale scale,
                                                   GradientReady gradient_ready) {
  auto& state = *state_;
  if (batch.input_shape.count() == 0) {
    infer_shapes(state.graph, batch.input_shape);
    std::fill(state.gradients.begin(), state.gradients.end(), 0.0f);
    for (std::size_t i = state.parameters.size(); i-- > 0;) gradient_ready(i);
    ++state.step;
    return 0;
  }
  auto& plan = state.plan(batch, true);
  detail::Run run{.stream = state.stream,
                  .batch = batch,
                  .random = Random{state.options.seed}.split(state.options.rank, state.step),
                  .loss_scale = scale.value,
                  .gradient_ready = gradient_ready};
  for (auto const& op : plan.ops) op->forward(run);
  for (auto op = plan.ops.rbegin(); op != plan.ops.rend(); ++op) (*op)->backward(run);
  ++state.step;
  return run.loss;
}

FLEET_BODY Output CompiledNetwork::predict(BatchView const& batch) {
  auto& state = *state_;
  if (batch.input_shape.count() == 0) return {{}, infer_shapes(state.graph, batch.input_shape).at(state.graph.output)};
  auto& plan = state.plan(batch, false);
  auto const ignore = [](std::size_t) {};
  detail::Run run{
      .stream = state.stream, .batch = batch, .random = Random{}, .loss_scale = 1, .gradient_ready = ignore};
  for (auto const& op : plan.ops) op->forward(run);
  return {{plan.buffers.data(plan.output), plan.output_shape.count()}, plan.output_shape};
}

}  // namespace fleet::nn::onednn
