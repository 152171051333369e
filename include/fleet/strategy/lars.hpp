#pragma once
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <fleet/core/aligned.hpp>
#include <fleet/core/error.hpp>
#include <fleet/optim/clip.hpp>
#include <fleet/optim/momentum.hpp>
#include <fleet/strategy/detail/excluded_names.hpp>
#include <fleet/strategy/fwd.hpp>
#include <fleet/strategy/hooks.hpp>

namespace fleet {

/// A rate of its own for each tensor, so that large batches train well (golden README 5). It replaces the update of
/// optim::Momentum, whose rate, momentum and regularisation it takes; Nesterov's form is not defined for it.
///   rate = learning_rate * coefficient * ||p|| / (||g|| + weight_decay * ||p||);  learning_rate where a norm is 0
///   v = momentum * v + rate * (g + weight_decay * p + epsilon);  p = p - v
struct LARS {
  float coefficient = 0.001f;    ///< trust coefficient, above 0, no unit
  float weight_decay = 0.0005f;  ///< at least 0; 0 leaves every tensor at the learning rate
  float epsilon = 0;             ///< at least 0; added inside the velocity
  std::vector<std::string>
      exclude{};  ///< a tensor whose name contains one of these has no decay and no rate of its own

  static constexpr Phase phase = Phase::update;
  static constexpr bool replaces_update = true;

  void validate() const {
    if (!(coefficient > 0))
      throw ConfigurationError(text("fleet: LARS.coefficient is ", coefficient, "; give a number above 0"));
    if (!(weight_decay >= 0))
      throw ConfigurationError(text("fleet: LARS.weight_decay is ", weight_decay, "; give 0 or a positive number"));
    if (!(epsilon >= 0))
      throw ConfigurationError(text("fleet: LARS.epsilon is ", epsilon, "; give 0 or a positive number"));
  }

  /// The rate of a tensor that is not excluded, from the norms of its value and gradient.
  float local_rate(float learning_rate, double value_norm, double gradient_norm) const {
    auto const decay = static_cast<double>(weight_decay);
    if (!(decay > 0 && value_norm > 0 && gradient_norm > 0)) return learning_rate;
    return static_cast<float>(static_cast<double>(learning_rate) * static_cast<double>(coefficient) * value_norm /
                              (gradient_norm + decay * value_norm));
  }

  template <class Optimizer>
  struct with {
    static_assert(
        std::is_base_of_v<optim::Momentum, Optimizer>,
        "fleet: LARS scales the step of optim::Momentum. Pass optim::Momentum, or use LAMB with optim::Adam.");
  };
  template <class... Policies>
  struct among {
    static_assert(!(same_kind<LAMB, Policies> || ...),
                  "fleet: LARS and LAMB both set the rate of each tensor. Keep LARS for optim::Momentum, or LAMB for "
                  "optim::Adam.");
    static_assert(!(same_kind<DGC, Policies> || ...), "fleet: LARS and DGC both own the momentum. Keep one of them.");
  };

  class State;
};

class LARS::State {
 public:
  State(LARS const& settings, Setup const& setup, optim::Momentum const& optimizer)
      : settings_(settings),
        optimizer_(optimizer),
        parameters_(setup.parameters),
        excluded_(detail::excluded_names("LARS", settings.exclude, setup)) {
    for (auto const& parameter : parameters_) velocity_.emplace_back(parameter.value.size());
    if (optimizer.nesterov) setup.notes.emplace_back("LARS has no Nesterov form: Momentum.nesterov has no effect");
  }

  /// Two passes: the norms, and the update.
  void update(Step& step, Parameter& parameter, NextUpdate) {
    auto const i = step.index_of(parameter);
    auto const count = parameter.value.size();
    optim::detail::Regularize const regularize{optimizer_.regularization, step.gradient_factor()};
    float rate = step.learning_rate(), decay = 0;
    if (!excluded_[i]) {
      decay = settings_.weight_decay;
      Norms norms{regularize, {}, {}};
      if (decay > 0)
        for_each_vector(count, norms, static_cast<float const*>(parameter.gradient.data()),
                        static_cast<float const*>(parameter.value.data()));
      rate = settings_.local_rate(rate, std::sqrt(norms.value.total()), std::sqrt(norms.gradient.total()));
    }
    auto const momentum = optimizer_.momentum, epsilon = settings_.epsilon;
    for_each_vector(
        count,
        [=](auto& g, auto& p, auto& v) {
          regularize(g, p);
          v = momentum * v + rate * (g + decay * p + epsilon);
          p -= v;
        },
        static_cast<float const*>(parameter.gradient.data()), parameter.value.data(), velocity_[i].data());
  }

  template <class Archive>
  void archive(Archive& archive) {
    for (std::size_t i = 0; i < velocity_.size(); ++i)
      archive(text("velocity/", parameters_[i].name), std::span<float>{velocity_[i]});
  }

 private:
  struct Norms {
    optim::detail::Regularize regularize;
    optim::detail::SquareSum value, gradient;

    void operator()(Floats& g, Floats const& p) {
      regularize(g, p);
      gradient(g);
      value(p);
    }
  };

  LARS settings_;
  optim::Momentum optimizer_;
  std::span<Parameter const> parameters_;
  std::vector<std::uint8_t> excluded_;
  std::vector<AlignedVector<float>> velocity_;
};

}  // namespace fleet
