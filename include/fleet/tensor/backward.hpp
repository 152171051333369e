#pragma once
#include <cstddef>

#include <fleet/core/function_ref.hpp>

namespace fleet {

/// What the loss is multiplied by before the backward pass, so that small gradients survive in 16 bits.
struct LossScale {
  float value = 1;
};

/// A model calls it with a parameter's position as soon as that gradient is final, so that its reduction overlaps the
/// rest of the backward pass. Once a parameter and pass; a parameter that took no part is left out.
using GradientReady = FunctionRef<void(std::size_t)>;

}  // namespace fleet
