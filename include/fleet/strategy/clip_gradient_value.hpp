#pragma once
#include <algorithm>

#include <fleet/core/error.hpp>
#include <fleet/strategy/hooks.hpp>

namespace fleet {

/// Keeps each element of the reduced gradient between two limits: g = min(max(g, lower), upper).
struct ClipGradientValue {
  float lower = -1;  ///< not above `upper`
  float upper = 1;

  static constexpr Phase phase = Phase::clip;

  void validate() const {
    if (!(lower <= upper))
      throw ConfigurationError(text("fleet: ClipGradientValue.lower is ", lower, " and .upper is ", upper,
                                    "; the lower limit must not be above the upper one"));
  }

  void before_update(Step& step) const {
    step.apply_gradient_factor();
    for (std::size_t i = 0; i < step.parameters().size(); ++i)
      if (step.used(i))
        for (auto& element : step.parameters()[i].gradient) element = std::clamp(element, lower, upper);
  }
};

}  // namespace fleet
