#pragma once
#include <cstdint>
#include <type_traits>
#include <utility>

#include <fleet/nn/executor.hpp>
#include <fleet/train/trainer.hpp>

namespace fleet {

struct NetworkOptions {
  std::uint64_t seed = 1;  ///< of the first values and of dropout; the same on every worker
};

namespace detail {

template <class>
constexpr bool is_strategy = false;
template <class... Ps>
constexpr bool is_strategy<Strategy<Ps...>> = true;

/// The rules that policies hold about the optimizer: nested templates of static_asserts, `with<Optimizer>`, or
/// `with_among<Optimizer, Policies...>` where it depends on the company.
template <class P, class O, class... Ps>
constexpr bool fits_optimizer = true;
template <class P, class O, class... Ps>
requires requires { typename P::template with<O>; }
constexpr bool fits_optimizer<P, O, Ps...> = sizeof(typename P::template with<O>) > 0;
template <class P, class O, class... Ps>
requires requires { typename P::template with_among<O, Ps...>; }
constexpr bool fits_optimizer<P, O, Ps...> = sizeof(typename P::template with_among<O, Ps...>) > 0;

template <class S, class O>
struct RulesHold;
template <class... Ps, class O>
struct RulesHold<Strategy<Ps...>, O> {
  static_assert((fits_optimizer<Ps, O, Ps...> && ... && true));
};

template <class Model>
struct ModelIsOne {
  static_assert(
      has_parameters<Model>,
      "fleet: a model needs parameters(), which returns a range of fleet::Parameter. Add that member, or pass a "
      "network and a loss.");
};

template <class M, class O, class S>
auto make_trainer(Job& job, M&& model, O optimizer, S const& strategy) {
  [[maybe_unused]] ModelIsOne<std::remove_cvref_t<M>> const model_is_one;
  [[maybe_unused]] RulesHold<S, O> const rules_hold;
  if constexpr (has_parameters<std::remove_cvref_t<M>>)
    return Trainer<M, O, S>(job, std::forward<M>(model), std::move(optimizer), strategy);
}

}  // namespace detail

/// Turns a model of your own into one that all workers train together. A model is any type with `parameters()` and
/// `forward_backward(batch)`; an optimizer any type with `update(parameter)`. A model passed by name stays yours and is
/// trained in place; a temporary moves into the trainer. Every worker calls it alike, with the same parameters; all
/// start from the first worker's values. Throws ContractError on every worker if their parameters differ.
template <class M, class O, class... Ps>
auto distribute(Job& job, M&& model, O optimizer, Strategy<Ps...> const& strategy) {
  return detail::make_trainer(job, std::forward<M>(model), std::move(optimizer), strategy);
}
template <class M, class O>
requires(!detail::is_strategy<O>) auto distribute(Job& job, M&& model, O optimizer) {
  return detail::make_trainer(job, std::forward<M>(model), std::move(optimizer), Strategy<>{});
}

/// Compiles a network and its loss for the engine that is linked (fleet::nn), and trains it on all workers together.
/// The network is only described by its argument; the trained parameters belong to the trainer.
template <class Network, class Loss, class O, class... Ps>
auto distribute(Job& job, Network const& network, Loss const& loss, O optimizer, Strategy<Ps...> const& strategy,
                NetworkOptions const& options = {}) {
  using Executor = nn::Executor<Network, Loss>;
  constexpr bool compiled = requires { sizeof(Executor); };
  static_assert(
      compiled,
      "fleet: a network needs an engine that computes it. Link fleet::nn (find_package(fleet COMPONENTS nn)).");
  if constexpr (compiled)
    return detail::make_trainer(job, Executor(network, loss, {.seed = options.seed, .rank = job.worker_index()}),
                                std::move(optimizer), strategy);
}
template <class Network, class Loss, class O>
requires(!detail::is_strategy<O>) auto distribute(Job& job, Network const& network, Loss const& loss, O optimizer,
                                                  NetworkOptions const& options = {}) {
  return distribute(job, network, loss, std::move(optimizer), Strategy<>{}, options);
}

}  // namespace fleet
