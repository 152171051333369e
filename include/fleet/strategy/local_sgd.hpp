#pragma once
#include <cstdint>

#include <fleet/core/error.hpp>
#include <fleet/strategy/detail/local_training.hpp>
#include <fleet/strategy/hooks.hpp>
#include <fleet/strategy/parameter_average.hpp>

namespace fleet {

/// Each worker updates its own copy of the parameters, and all average them every `k_steps` updates, in place of a
/// reduction of gradients at each (golden README 9.1). Local updates count from 1; until `begin_step` every one is
/// averaged. Optimizer states stay each worker's own. Between averagings the workers' parameters differ: end the
/// training at one.
struct LocalSGD {
  std::int64_t k_steps = 1;     ///< updates between two averagings, at least 1
  std::int64_t begin_step = 1;  ///< updates, at least 0

  static constexpr Phase phase = Phase::exchange;
  static constexpr bool replaces_reduction = true;
  static constexpr bool parameters_differ = true;

  void validate() const {
    if (k_steps < 1) throw ConfigurationError(text("fleet: LocalSGD.k_steps is ", k_steps, "; give at least 1"));
    if (begin_step < 0)
      throw ConfigurationError(text("fleet: LocalSGD.begin_step is ", begin_step, "; give at least 0"));
  }

  template <class Optimizer, class... Policies>
  struct with_among : detail::LocalTrainingWith<Optimizer, Policies...> {};
  template <class... Policies>
  struct among : detail::LocalTrainingAmong<Policies...> {};

  class State;
};

class LocalSGD::State {
 public:
  State(LocalSGD const& settings, Setup const& setup) : settings_(settings), last_(settings.begin_step) {
    if (setup.workers.size() == 1) setup.notes.emplace_back("LocalSGD has nothing to average on one worker");
  }

  void after_update(Step& step) {
    ++steps_;
    if (steps_ > settings_.begin_step && steps_ - last_ < settings_.k_steps) return;
    average_(step.parameters(), step.workers());
    last_ = steps_;
  }

  template <class Archive>
  void archive(Archive& archive) {
    archive("steps", steps_);
    archive("last", last_);
  }

 private:
  LocalSGD settings_;
  std::int64_t steps_ = 0, last_;
  ParameterAverage average_;
};

}  // namespace fleet
