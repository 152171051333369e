#pragma once
#include <fleet/optim/elementwise_state.hpp>

namespace fleet::optim {

/// Gradient descent with momentum: v = momentum * v + g;  p = p - learning_rate * v, or with Nesterov's look ahead
/// p = p - learning_rate * (g + momentum * v).
struct Momentum {
  LearningRate learning_rate = 1e-3f;  ///< at least 0
  float momentum = 0.9f;               ///< in [0, 1)
  bool nesterov = false;
  Regularization regularization{};

  struct Rule;
  using State = ElementwiseState<Momentum>;
};

struct Momentum::Rule {
  static constexpr std::string_view optimizer = "Momentum";
  static constexpr std::array<std::string_view, 1> slots{"velocity"};
  static constexpr bool counts_updates = false;
  static void check(Momentum const& settings) {
    detail::require(settings.momentum >= 0 && settings.momentum < 1, optimizer, "momentum", settings.momentum,
                    "in [0, 1)");
  }

  /// Both forms are p = p - (of_gradient * g + of_velocity * v).
  Rule(Momentum const& settings, float learning_rate, std::int64_t)
      : momentum(settings.momentum),
        of_gradient(settings.nesterov ? learning_rate : 0),
        of_velocity(settings.nesterov ? learning_rate * settings.momentum : learning_rate) {}
  void operator()(Floats const& g, Floats& p, Floats& v) const {
    v = momentum * v + g;
    p -= of_gradient * g + of_velocity * v;
  }

  float momentum, of_gradient, of_velocity;
};

}  // namespace fleet::optim
