#pragma once
#include <fleet/optim/elementwise_state.hpp>

namespace fleet::optim {
namespace detail {

/// Checks what Adam and its kin share.
template <class Settings>
void check_moments(std::string_view optimizer, Settings const& settings) {
  require(settings.beta1 >= 0 && settings.beta1 < 1, optimizer, "beta1", settings.beta1, "in [0, 1)");
  require(settings.beta2 >= 0 && settings.beta2 < 1, optimizer, "beta2", settings.beta2, "in [0, 1)");
  require(settings.epsilon > 0, optimizer, "epsilon", settings.epsilon, "above 0");
}

/// m = beta1 * m + (1 - beta1) * g;  u = beta2 * u + (1 - beta2) * g^2;
/// p = shrink * p - learning_rate * (m / (1 - beta1^t)) / (sqrt(u / (1 - beta2^t)) + epsilon)
struct AdamRule {
  static constexpr std::array<std::string_view, 2> slots{"moment1", "moment2"};
  static constexpr bool counts_updates = true;

  template <class Settings>
  AdamRule(Settings const& settings, float learning_rate, std::int64_t updates, float shrink_by)
      : beta1(settings.beta1), beta2(settings.beta2), shrink(shrink_by) {
    auto const t = static_cast<double>(updates);
    double const root = std::sqrt(1 - std::pow(static_cast<double>(beta2), t));
    rate =
        static_cast<float>(static_cast<double>(learning_rate) * root / (1 - std::pow(static_cast<double>(beta1), t)));
    epsilon = static_cast<float>(static_cast<double>(settings.epsilon) * root);
  }
  void operator()(Floats const& g, Floats& p, Floats& m, Floats& u) const {
    m = beta1 * m + (1 - beta1) * g;
    u = beta2 * u + (1 - beta2) * (g * g);
    Floats root = u;
    take_root(root);
    p = shrink * p - rate * m / (root + epsilon);
  }

  float beta1, beta2, shrink, rate, epsilon;
};

}  // namespace detail

/// Adam: m = beta1 * m + (1 - beta1) * g;  u = beta2 * u + (1 - beta2) * g^2;
/// p = p - learning_rate * (m / (1 - beta1^t)) / (sqrt(u / (1 - beta2^t)) + epsilon).
/// t counts the updates of the parameter at hand, so one that joins late or is skipped has its own.
struct Adam {
  LearningRate learning_rate = 1e-3f;  ///< at least 0
  float beta1 = 0.9f;                  ///< in [0, 1)
  float beta2 = 0.999f;                ///< in [0, 1)
  float epsilon = 1e-8f;               ///< above 0
  Regularization regularization{};

  struct Rule;
  using State = ElementwiseState<Adam>;
};

struct Adam::Rule : detail::AdamRule {
  static constexpr std::string_view optimizer = "Adam";
  static void check(Adam const& settings) { detail::check_moments(optimizer, settings); }

  Rule(Adam const& settings, float learning_rate, std::int64_t t) : AdamRule(settings, learning_rate, t, 1) {}
};

/// Adam with decoupled decay: p = p * (1 - learning_rate * weight_decay), then Adam's update.
struct AdamW {
  LearningRate learning_rate = 1e-3f;  ///< at least 0
  float beta1 = 0.9f;                  ///< in [0, 1)
  float beta2 = 0.999f;                ///< in [0, 1)
  float epsilon = 1e-8f;               ///< above 0
  float weight_decay = 0.01f;          ///< at least 0
  Regularization regularization{};

  struct Rule;
  using State = ElementwiseState<AdamW>;
};

struct AdamW::Rule : detail::AdamRule {
  static constexpr std::string_view optimizer = "AdamW";
  static void check(AdamW const& settings) {
    detail::check_moments(optimizer, settings);
    detail::require(settings.weight_decay >= 0, optimizer, "weight_decay", settings.weight_decay, "at least 0");
  }

  Rule(AdamW const& settings, float learning_rate, std::int64_t t)
      : AdamRule(settings, learning_rate, t, 1 - learning_rate * settings.weight_decay) {}
};

}  // namespace fleet::optim
