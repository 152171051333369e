#pragma once
#include <fleet/core/vectorize.hpp>

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

namespace detail {

/// What every update does to the gradient first, in its own pass: factor * gradient + what regularisation adds.
struct Regularize {
  Regularize(Regularization const& rule, float gradient_factor) : factor(gradient_factor), l2(rule.l2), l1(rule.l1) {}

  void operator()(Floats& gradient, Floats const& value) const {
    Floats const zero{};
    gradient = factor * gradient + l2 * value + (value > zero ? zero + l1 : (value < zero ? zero - l1 : zero));
  }

  float factor, l2, l1;
};

}  // namespace detail
}  // namespace fleet::optim
