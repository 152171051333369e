#pragma once
#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include <fleet/strategy/strategy.hpp>

namespace fleet {
namespace detail {

template <std::size_t, class P>
struct RuntimeAt {
  runtime_of_t<P> runtime;
};

/// A policy's running state: made from its settings and from as much of (setup, optimizer) as it asks for.
template <class P, class Optimizer>
runtime_of_t<P> make_runtime(P const& policy, Setup const& setup, [[maybe_unused]] Optimizer const& optimizer) {
  using R = runtime_of_t<P>;
  if constexpr (std::is_same_v<R, P>)
    return policy;
  else if constexpr (std::is_constructible_v<R, P const&, Setup const&, Optimizer const&>)
    return R(policy, setup, optimizer);
  else
    return R(policy, setup);
}

/// Positions in the list, sorted by phase; equal phases keep the order of the list.
template <class... Ps>
constexpr auto phase_order() {
  std::array<std::size_t, sizeof...(Ps)> order{};
  std::array<Phase, sizeof...(Ps)> const phases{phase_of<Ps>...};
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::size_t at = i;
    for (; at > 0 && phases[order[at - 1]] > phases[i]; --at) order[at] = order[at - 1];
    order[at] = i;
  }
  return order;
}

template <class Indices, class... Ps>
class PipelineOf;

template <std::size_t... I, class... Ps>
class PipelineOf<std::index_sequence<I...>, Ps...> : RuntimeAt<I, Ps>... {
 public:
  template <class Optimizer>
  PipelineOf(Strategy<Ps...> const& strategy, Setup const& setup, Optimizer const& optimizer)
      : RuntimeAt<I, Ps>{make_runtime(strategy.template policy<I>(), setup, optimizer)}... {}

  static constexpr bool wraps_update = (has_update<runtime_of_t<Ps>> || ...);
  static constexpr bool sees_gradients = (has_gradient_ready<runtime_of_t<Ps>> || ...);

  void begin_step(Step& step) { (begin_step_at<order_[I]>(step), ...); }
  void gradient_ready(Step& step, Parameter& parameter) { (gradient_ready_at<order_[I]>(step, parameter), ...); }
  void before_update(Step& step) { (before_update_at<order_[I]>(step), ...); }
  void after_update(Step& step) { (after_update_at<order_[I]>(step), ...); }

  /// The wrappers in phase order, each around the next, `innermost()` at the end.
  template <class Innermost>
  void update(Step& step, Parameter& parameter, Innermost& innermost) {
    update_from<0>(step, parameter, innermost);
  }

  /// What each policy keeps between steps, under its name.
  template <class Archive>
  void archive(Archive& archive) {
    (archive_at<I, Ps>(archive), ...);
  }

  /// Calls `function(name, runtime)` for each policy in the order of the list.
  template <class Function>
  void for_each(Function&& function) {
    (function(type_name<Ps>(), at<I>()), ...);
  }

 private:
  static constexpr auto order_ = phase_order<Ps...>();

  template <std::size_t K, class P>
  static runtime_of_t<P>& pick(RuntimeAt<K, P>& holder) {
    return holder.runtime;
  }
  template <std::size_t K, class P>
  static std::type_identity<P> policy_type(RuntimeAt<K, P> const&);
  template <std::size_t K>
  auto& at() {
    return pick<K>(*this);
  }

  template <std::size_t K>
  void begin_step_at(Step& step) {
    if constexpr (has_begin_step<std::remove_reference_t<decltype(at<K>())>>) at<K>().begin_step(step);
  }
  template <std::size_t K>
  void gradient_ready_at(Step& step, Parameter& parameter) {
    if constexpr (has_gradient_ready<std::remove_reference_t<decltype(at<K>())>>)
      at<K>().gradient_ready(step, parameter);
  }
  template <std::size_t K>
  void before_update_at(Step& step) {
    using P = typename decltype(policy_type<K>(std::declval<PipelineOf const&>()))::type;
    if constexpr (has_before_update<runtime_of_t<P>>) {
      if constexpr (phase_of<P> == Phase::user) step.apply_gradient_factor();  // users see gradients as they are
      if (!step.skipped()) at<K>().before_update(step);
    }
  }
  template <std::size_t K>
  void after_update_at(Step& step) {
    if constexpr (has_after_update<std::remove_reference_t<decltype(at<K>())>>) at<K>().after_update(step);
  }
  template <std::size_t Place, class Innermost>
  void update_from(Step& step, Parameter& parameter, Innermost& innermost) {
    if constexpr (Place == sizeof...(Ps)) {
      innermost();
    } else {
      auto& runtime = at<order_[Place]>();
      if constexpr (has_update<std::remove_reference_t<decltype(runtime)>>) {
        auto next = [&] { update_from<Place + 1>(step, parameter, innermost); };
        runtime.update(step, parameter, NextUpdate{next});
      } else {
        update_from<Place + 1>(step, parameter, innermost);
      }
    }
  }
  template <std::size_t K, class P, class Archive>
  void archive_at(Archive& archive) {
    if constexpr (requires { at<K>().archive(archive); }) {
      auto const scope = archive.scope(type_name<typename kind_of<P>::type>());
      at<K>().archive(archive);
    }
  }
};

template <class S>
struct pipeline_for;
template <class... Ps>
struct pipeline_for<Strategy<Ps...>> {
  using type = PipelineOf<std::index_sequence_for<Ps...>, Ps...>;
};

}  // namespace detail

/// The running states of a strategy's policies, called in the order of their phases.
template <class S>
using Pipeline = typename detail::pipeline_for<S>::type;

}  // namespace fleet
