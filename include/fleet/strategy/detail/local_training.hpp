#pragma once
#include <type_traits>

#include <fleet/optim/fwd.hpp>
#include <fleet/strategy/fwd.hpp>
#include <fleet/strategy/hooks.hpp>

namespace fleet::detail {

/// Optimizers whose step is no longer a sum of gradients, so that a mean of parameters has little meaning.
template <class Optimizer>
constexpr bool adapts_each_element = std::is_same_v<Optimizer, optim::Adagrad> ||
                                     std::is_same_v<Optimizer, optim::Adam> || std::is_same_v<Optimizer, optim::AdamW>;

/// The rules of policies under which workers train apart and average their parameters.
template <class Optimizer, class... Policies>
struct LocalTrainingWith {
  static_assert(
      !adapts_each_element<Optimizer> || (same_kind<LAMB, Policies> || ...),
      "fleet: LocalSGD and AdaptiveLocalSGD average what optim::SGD or optim::Momentum did on each worker. Pass "
      "one of these, or add LAMB to optim::Adam.");
};

template <class... Policies>
struct LocalTrainingAmong {
  static_assert(!((same_kind<LocalSGD, Policies> || ...) && (same_kind<AdaptiveLocalSGD, Policies> || ...)),
                "fleet: LocalSGD and AdaptiveLocalSGD both decide when parameters are averaged. Keep one of them.");
  static_assert(
      !(same_kind<DGC, Policies> || ...),
      "fleet: LocalSGD and AdaptiveLocalSGD send no gradients, so DGC has none to compress. Keep one of them.");
  static_assert(
      !(same_kind<FuseAllReduce, Policies> || ...) && !(same_kind<HierarchicalAllReduce, Policies> || ...),
      "fleet: LocalSGD and AdaptiveLocalSGD reduce no gradients, so FuseAllReduce and HierarchicalAllReduce mean "
      "nothing. Leave them out.");
};

}  // namespace fleet::detail
