#pragma once
#include <fleet/optim/elementwise_state.hpp>

namespace fleet::optim {

/// Stochastic gradient descent: p = p - learning_rate * g.
struct SGD {
  LearningRate learning_rate = 1e-3f;  ///< at least 0
  Regularization regularization{};

  struct Rule;
  using State = ElementwiseState<SGD>;
};

struct SGD::Rule {
  static constexpr std::string_view optimizer = "SGD";
  static constexpr std::array<std::string_view, 0> slots{};
  static constexpr bool counts_updates = false;
  static void check(SGD const&) {}

  Rule(SGD const&, float learning_rate, std::int64_t) : rate(learning_rate) {}
  void operator()(Floats const& g, Floats& p) const { p -= rate * g; }

  float rate;
};

}  // namespace fleet::optim
