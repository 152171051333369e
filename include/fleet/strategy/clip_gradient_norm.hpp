#pragma once
#include <cmath>
#include <span>
#include <vector>

#include <fleet/core/error.hpp>
#include <fleet/optim/clip.hpp>
#include <fleet/strategy/hooks.hpp>

namespace fleet {

/// Scales all gradients so that their global norm is at most `threshold` (golden README 3):
///   g = g * threshold / max(threshold, sqrt(sum over parameters of ||g||^2)).
/// It acts on the reduced, unscaled, averaged gradient, and StepResult::gradient_norm tells the norm before clipping.
/// A norm that is not finite skips the step, on all workers alike.
struct ClipGradientNorm {
  float threshold = 1;  ///< above 0; in the unit of the gradient

  static constexpr Phase phase = Phase::clip;

  void validate() const {
    if (!(threshold > 0))
      throw ConfigurationError(text("fleet: ClipGradientNorm.threshold is ", threshold, "; give a number above 0"));
  }

  void before_update(Step& step) const {
    double squares = 0;
    for (std::size_t i = 0; i < step.parameters().size(); ++i)
      if (step.used(i)) squares += optim::sum_of_squares(step.parameters()[i].gradient);
    auto const norm = step.gradient_factor() * static_cast<float>(std::sqrt(squares));
    step.set_gradient_norm(norm);
    if (step.any_worker(!std::isfinite(norm)))
      step.skip(text("the gradient norm is ", norm));
    else if (norm > threshold)
      step.scale_gradients(threshold / norm);
  }
};

}  // namespace fleet
