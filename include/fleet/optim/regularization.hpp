#pragma once

namespace fleet::optim {

/// gradient += coefficient * value
struct L2 {
  float coefficient = 0;  ///< at least 0
};

/// gradient += coefficient * sign(value), sign(0) = 0
struct L1 {
  float coefficient = 0;  ///< at least 0
};

/// What is added to the gradient, after clipping and before the update, in the same pass over memory: nothing, L1
/// or L2.
struct Regularization {
  float l2 = 0;
  float l1 = 0;

  constexpr Regularization() = default;
  constexpr Regularization(L2 decay) : l2(decay.coefficient) {}  // NOLINT(google-explicit-constructor): it is one
  constexpr Regularization(L1 decay) : l1(decay.coefficient) {}  // NOLINT(google-explicit-constructor): it is one
};

}  // namespace fleet::optim
