#pragma once
#include <cstdint>

namespace fleet {

/// What happens when a worker runs out of batches before the others. It then calls `Trainer::join()` in place of
/// `step`, and every worker does so at the end of its data. Without the policy a worker that leaves early is an error
/// on all the others, which names it.
struct Join {
  enum class Mode : std::uint8_t {
    mean_of_active,    ///< gradients are averaged over the workers that still have batches
    absent_as_zero,    ///< the absent count as workers with a gradient of zero
    stop_at_shortest,  ///< no step is applied any more once a worker has run out; Trainer::finished() tells
  };

  Mode mode = Mode::mean_of_active;

  static constexpr bool settings_only = true;
};

}  // namespace fleet
