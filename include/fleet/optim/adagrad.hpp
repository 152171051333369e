#pragma once
#include <fleet/optim/elementwise_state.hpp>

namespace fleet::optim {

/// Adagrad: a = a + g^2;  p = p - learning_rate * g / (sqrt(a) + epsilon). a starts at 0.
struct Adagrad {
  LearningRate learning_rate = 1e-3f;  ///< at least 0
  float epsilon = 1e-6f;               ///< above 0
  Regularization regularization{};

  struct Rule;
  using State = ElementwiseState<Adagrad>;
};

struct Adagrad::Rule {
  static constexpr std::string_view optimizer = "Adagrad";
  static constexpr std::array<std::string_view, 1> slots{"moment"};
  static constexpr bool counts_updates = false;
  static void check(Adagrad const& settings) {
    detail::require(settings.epsilon > 0, optimizer, "epsilon", settings.epsilon, "above 0");
  }

  Rule(Adagrad const& settings, float learning_rate, std::int64_t) : rate(learning_rate), epsilon(settings.epsilon) {}
  void operator()(Floats const& g, Floats& p, Floats& a) const {
    a += g * g;
    Floats root = a;
    take_root(root);
    p -= rate * g / (root + epsilon);
  }

  float rate, epsilon;
};

}  // namespace fleet::optim
