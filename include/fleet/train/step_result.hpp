#pragma once
#include <cstdint>
#include <limits>
#include <string>

namespace fleet {

/// What one call of Trainer::step did.
struct StepResult {
  float loss = 0;        ///< this worker's mean loss over its batch, unscaled
  bool applied = false;  ///< whether parameters were updated: not within a merge window, nor in a skipped step
  float loss_scale = 1;  ///< what the loss was multiplied by
  float gradient_norm = std::numeric_limits<float>::quiet_NaN();  ///< before clipping; only known if a policy asks
  std::string skipped{};  ///< why the update was left out, the same on every worker; empty if it was not
};

}  // namespace fleet
