#pragma once
#include <type_traits>
#include <utility>

#include <fleet/train/trainer.hpp>

namespace fleet {
namespace detail {

template <class>
constexpr bool is_strategy = false;
template <class... Ps>
constexpr bool is_strategy<Strategy<Ps...>> = true;

/// The rules that policies hold about the optimizer: nested templates `with<Optimizer>` of static_asserts.
template <class P, class O>
constexpr bool fits_optimizer = true;
template <class P, class O>
  requires requires { typename P::template with<O>; }
constexpr bool fits_optimizer<P, O> = sizeof(typename P::template with<O>) > 0;

template <class S, class O>
struct RulesHold;
template <class... Ps, class O>
struct RulesHold<Strategy<Ps...>, O> {
  static_assert((fits_optimizer<Ps, O> && ... && true));
};

template <class Model>
struct ModelIsOne {
  static_assert(has_parameters<Model>,
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
  requires(!detail::is_strategy<O>)
auto distribute(Job& job, M&& model, O optimizer) {
  return detail::make_trainer(job, std::forward<M>(model), std::move(optimizer), Strategy<>{});
}

}  // namespace fleet
