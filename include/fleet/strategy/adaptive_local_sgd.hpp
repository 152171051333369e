#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fleet/core/error.hpp>
#include <fleet/optim/optimizer.hpp>
#include <fleet/strategy/detail/local_training.hpp>
#include <fleet/strategy/hooks.hpp>
#include <fleet/strategy/parameter_average.hpp>

namespace fleet {

/// LocalSGD with an interval that follows the training (golden README 9.2): at each averaging after `begin_step`
///   k = clamp(ceil(sqrt(rate_1 * loss / (rate * loss_1) * init_k_steps)), 1, 16)
/// with the rate and the mean loss over the workers now and at the first update; 1 where that is not finite. A
/// falling rate widens the interval, a falling loss narrows it.
struct AdaptiveLocalSGD {
  std::int64_t init_k_steps = 1;  ///< updates between two averagings at first, at least 1
  std::int64_t begin_step = 1;    ///< until this update every one is averaged, at least 0

  static constexpr Phase phase = Phase::exchange;
  static constexpr bool replaces_reduction = true;
  static constexpr bool parameters_differ = true;

  void validate() const {
    if (init_k_steps < 1)
      throw ConfigurationError(text("fleet: AdaptiveLocalSGD.init_k_steps is ", init_k_steps, "; give at least 1"));
    if (begin_step < 0)
      throw ConfigurationError(text("fleet: AdaptiveLocalSGD.begin_step is ", begin_step, "; give at least 0"));
  }

  template <class Optimizer, class... Policies>
  struct with_among : detail::LocalTrainingWith<Optimizer, Policies...> {
    static_assert(optim::StatefulOptimizer<Optimizer>,
                  "fleet: AdaptiveLocalSGD needs to know the learning rate. Pass optim::SGD or optim::Momentum, or use "
                  "LocalSGD.");
  };
  template <class... Policies>
  struct among : detail::LocalTrainingAmong<Policies...> {};

  class State;
};

class AdaptiveLocalSGD::State {
 public:
  State(AdaptiveLocalSGD const& settings, Setup const& setup) : settings_(settings), interval_(settings.init_k_steps) {
    if (setup.workers.size() == 1) setup.notes.emplace_back("AdaptiveLocalSGD has nothing to average on one worker");
  }

  void after_update(Step& step) {
    if (++steps_ == 1) {
      first_loss_ = mean_loss(step);
      first_rate_ = static_cast<double>(step.learning_rate());
    }
    bool const begun = steps_ > settings_.begin_step;
    if (begun && steps_ - last_ < interval_) return;
    average_(step.parameters(), step.workers());
    last_ = steps_;
    if (begun) interval_ = next_interval(mean_loss(step), static_cast<double>(step.learning_rate()));
  }

  template <class Archive>
  void archive(Archive& archive) {
    archive("steps", steps_);
    archive("last", last_);
    archive("interval", interval_);
    archive("first_loss", first_loss_);
    archive("first_rate", first_rate_);
  }

 private:
  static double mean_loss(Step const& step) {
    auto loss = static_cast<double>(step.loss());
    step.workers().all_reduce(std::span{&loss, 1});
    return loss / step.workers().size();
  }

  std::int64_t next_interval(double loss, double rate) const {
    auto const root =
        std::sqrt(first_rate_ * loss / (rate * first_loss_) * static_cast<double>(settings_.init_k_steps));
    return std::isfinite(root) ? static_cast<std::int64_t>(std::clamp(std::ceil(root), 1.0, 16.0)) : 1;
  }

  AdaptiveLocalSGD settings_;
  std::int64_t steps_ = 0, last_ = 0, interval_;
  double first_loss_ = 0, first_rate_ = 0;
  ParameterAverage average_;
};

}  // namespace fleet
