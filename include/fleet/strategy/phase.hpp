#pragma once
#include <cstdint>

namespace fleet {

/// When a policy acts within a step. Hooks of one name run in this order, whatever the order in the list of policies;
/// wrappers of the update nest in it, the earlier one outside. A policy states it as `static constexpr Phase phase`;
/// one that does not, as users' own, acts last.
enum class Phase : std::uint8_t {
  schedule,    ///< learning rate, sparsity, local phase
  accumulate,  ///< gradient merge
  compress,    ///< what is sent in place of the gradient
  reduce,      ///< the reduction over the workers
  unscale,     ///< finite check, loss scale
  sparsify,    ///< a part of the gradient is sent in its place, once it is known to be finite
  clip,        ///< limits on the gradient
  update,      ///< wrappers of the optimizer
  exchange,    ///< averages of parameters, parameter servers
  user,        ///< everything else
};

}  // namespace fleet
