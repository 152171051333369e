#pragma once
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <fleet/core/aligned.hpp>
#include <fleet/core/error.hpp>
#include <fleet/optim/adam.hpp>
#include <fleet/optim/clip.hpp>
#include <fleet/strategy/detail/excluded_names.hpp>
#include <fleet/strategy/fwd.hpp>
#include <fleet/strategy/hooks.hpp>

namespace fleet {

/// Adam with a trust ratio for each tensor, so that large batches train well (golden README 5). It replaces the update
/// of optim::Adam, whose rate, betas, epsilon and regularisation it takes.
///   m = beta1 * m + (1 - beta1) * g;  u = beta2 * u + (1 - beta2) * g^2;  r = m / (sqrt(u) + epsilon) + weight_decay *
///   p p = p - learning_rate * ||p|| / ||r|| * r;  ratio 1 where a norm is 0
struct LAMB {
  float weight_decay = 0.01f;          ///< at least 0
  bool bias_correction = false;        ///< m / (1 - beta1^t) and u / (1 - beta2^t) stand for m and u in r
  std::vector<std::string> exclude{};  ///< a tensor whose name contains one of these has no decay; its ratio stays

  static constexpr Phase phase = Phase::update;
  static constexpr bool replaces_update = true;

  void validate() const {
    if (!(weight_decay >= 0))
      throw ConfigurationError(text("fleet: LAMB.weight_decay is ", weight_decay, "; give 0 or a positive number"));
  }

  /// What the rate of a tensor is multiplied by, from the norms of its value and of r.
  static float trust_ratio(double value_norm, double step_norm) {
    return value_norm > 0 && step_norm > 0 ? static_cast<float>(value_norm / step_norm) : 1.0f;
  }

  template <class Optimizer>
  struct with {
    static_assert(std::is_base_of_v<optim::Adam, Optimizer>,
                  "fleet: LAMB scales the step of optim::Adam. Pass optim::Adam, or use LARS with optim::Momentum.");
  };
  template <class... Policies>
  struct among {
    static_assert(!(same_kind<LARS, Policies> || ...),
                  "fleet: LAMB and LARS both set the rate of each tensor. Keep LAMB for optim::Adam, or LARS for "
                  "optim::Momentum.");
    static_assert(!(same_kind<DGC, Policies> || ...),
                  "fleet: LAMB needs optim::Adam and DGC needs optim::Momentum. Keep one of them.");
  };

  class State;
};

class LAMB::State {
 public:
  State(LAMB const& settings, Setup const& setup, optim::Adam const& optimizer)
      : settings_(settings),
        optimizer_(optimizer),
        parameters_(setup.parameters),
        excluded_(detail::excluded_names("LAMB", settings.exclude, setup)),
        updates_(setup.parameters.size()) {
    for (auto const& parameter : parameters_) {
      moment1_.emplace_back(parameter.value.size());
      moment2_.emplace_back(parameter.value.size());
    }
  }

  /// Two passes: the moments with the norms, and the update.
  void update(Step& step, Parameter& parameter, NextUpdate) {
    auto const i = step.index_of(parameter);
    auto const count = parameter.value.size();
    ++updates_[i];
    Direction const direction = direction_of(i);
    Moments moments{
        {optimizer_.regularization, step.gradient_factor()}, direction, optimizer_.beta1, optimizer_.beta2, {}, {}};
    for_each_vector(count, moments, static_cast<float const*>(parameter.gradient.data()),
                    static_cast<float const*>(parameter.value.data()), moment1_[i].data(), moment2_[i].data());
    float const rate =
        step.learning_rate() * trust_ratio(std::sqrt(moments.value.total()), std::sqrt(moments.step.total()));
    for_each_vector(
        count,
        [=](auto& p, auto& m, auto& u) {
          Floats r;
          direction(r, p, m, u);
          p -= rate * r;
        },
        parameter.value.data(), std::as_const(moment1_[i]).data(), std::as_const(moment2_[i]).data());
  }

  template <class Archive>
  void archive(Archive& archive) {
    for (std::size_t i = 0; i < updates_.size(); ++i) {
      archive(text("moment1/", parameters_[i].name), std::span<float>{moment1_[i]});
      archive(text("moment2/", parameters_[i].name), std::span<float>{moment2_[i]});
      archive(text("updates/", parameters_[i].name), updates_[i]);
    }
  }

 private:
  /// r of an element.
  struct Direction {
    float of_moment1, of_moment2, epsilon, decay;

    void operator()(Floats& r, Floats const& p, Floats const& m, Floats const& u) const {
      r = of_moment2 * u;
      take_root(r);
      r = of_moment1 * m / (r + epsilon) + decay * p;
    }
  };

  struct Moments {
    optim::detail::Regularize regularize;
    Direction direction;
    float beta1, beta2;
    optim::detail::SquareSum value, step;

    void operator()(Floats& g, Floats const& p, Floats& m, Floats& u) {
      regularize(g, p);
      m = beta1 * m + (1 - beta1) * g;
      u = beta2 * u + (1 - beta2) * (g * g);
      Floats r;
      direction(r, p, m, u);
      value(p);
      step(r);
    }
  };

  Direction direction_of(std::size_t i) const {
    Direction direction{1, 1, optimizer_.epsilon, excluded_[i] ? 0 : settings_.weight_decay};
    if (settings_.bias_correction) {
      auto const t = static_cast<double>(updates_[i]);
      direction.of_moment1 = static_cast<float>(1 / (1 - std::pow(static_cast<double>(optimizer_.beta1), t)));
      direction.of_moment2 = static_cast<float>(1 / (1 - std::pow(static_cast<double>(optimizer_.beta2), t)));
    }
    return direction;
  }

  LAMB settings_;
  optim::Adam optimizer_;
  std::span<Parameter const> parameters_;
  std::vector<std::uint8_t> excluded_;
  std::vector<std::int64_t> updates_;  // of each parameter
  std::vector<AlignedVector<float>> moment1_, moment2_;
};

}  // namespace fleet
