#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include <fleet/optim/learning_rate.hpp>

// Learning-rate schedules. Each is a value that converts to a LearningRate; t = 0, 1, 2, ... counts applied updates.
namespace fleet::optim {

/// The same rate at every step.
struct Constant {
  double learning_rate = 1e-3;

  double at(std::int64_t) const { return learning_rate; }
};

/// values[i] for the first i with t < boundaries[i], else the last value.
struct Piecewise {
  std::vector<std::int64_t> boundaries;  ///< ascending
  std::vector<double> values;            ///< one more than boundaries

  double at(std::int64_t t) const {
    return values[static_cast<std::size_t>(std::upper_bound(boundaries.begin(), boundaries.end(), t) -
                                           boundaries.begin())];
  }
  void check() const {
    detail::require(values.size() == boundaries.size() + 1, "Piecewise", "values", values.size(),
                    "a list with one element more than boundaries");
    for (std::size_t i = 1; i < boundaries.size(); ++i)
      detail::require(boundaries[i - 1] < boundaries[i], "Piecewise", "boundaries", boundaries[i],
                      "a list in ascending order");
  }
};

/// learning_rate * gamma^floor(t / step_size)
struct Step {
  double learning_rate = 1e-3;
  std::int64_t step_size = 1;  ///< updates, at least 1
  double gamma = 0.1;

  double at(std::int64_t t) const { return learning_rate * std::pow(gamma, static_cast<double>(t / step_size)); }
  void check() const { detail::require(step_size >= 1, "Step", "step_size", step_size, "at least 1"); }
};

/// learning_rate * decay_rate^(t / decay_steps); a staircase rounds the exponent down.
struct Exponential {
  double learning_rate = 1e-3;
  std::int64_t decay_steps = 1;  ///< updates, at least 1
  double decay_rate = 0.1;
  bool staircase = false;

  double at(std::int64_t t) const {
    auto const exponent = static_cast<double>(t) / static_cast<double>(decay_steps);
    return learning_rate * std::pow(decay_rate, staircase ? std::floor(exponent) : exponent);
  }
  void check() const { detail::require(decay_steps >= 1, "Exponential", "decay_steps", decay_steps, "at least 1"); }
};

/// (learning_rate - end) * (1 - t/n)^power + end; t stops at n = decay_steps, or n grows by whole periods (cycle).
struct Polynomial {
  double learning_rate = 1e-3;
  std::int64_t decay_steps = 1;  ///< updates, at least 1
  double end_learning_rate = 1e-4;
  double power = 1;
  bool cycle = false;

  double at(std::int64_t step) const {
    auto t = static_cast<double>(step), n = static_cast<double>(decay_steps);
    if (cycle)
      n *= std::max(1.0, std::ceil(t / n));
    else
      t = std::min(t, n);
    return (learning_rate - end_learning_rate) * std::pow(1 - t / n, power) + end_learning_rate;
  }
  void check() const { detail::require(decay_steps >= 1, "Polynomial", "decay_steps", decay_steps, "at least 1"); }
};

/// minimum + (learning_rate - minimum) * (1 + cos(pi * t / t_max)) / 2; it rises again after t_max.
struct Cosine {
  double learning_rate = 1e-3;
  std::int64_t t_max = 1;  ///< updates, at least 1
  double minimum = 0;

  double at(std::int64_t t) const {
    auto const angle = std::numbers::pi * static_cast<double>(t) / static_cast<double>(t_max);
    return minimum + (learning_rate - minimum) * (1 + std::cos(angle)) / 2;
  }
  void check() const { detail::require(t_max >= 1, "Cosine", "t_max", t_max, "at least 1"); }
};

/// learning_rate / 2 * (cos(pi * floor(t / steps_per_epoch) / epochs) + 1): it changes once an epoch.
struct CosineEpochs {
  double learning_rate = 1e-3;
  std::int64_t steps_per_epoch = 1;  ///< updates, at least 1
  std::int64_t epochs = 1;           ///< at least 1

  double at(std::int64_t t) const {
    auto const epoch = static_cast<double>(t / steps_per_epoch);
    return learning_rate / 2 * (std::cos(std::numbers::pi * epoch / static_cast<double>(epochs)) + 1);
  }
  void check() const {
    detail::require(steps_per_epoch >= 1, "CosineEpochs", "steps_per_epoch", steps_per_epoch, "at least 1");
    detail::require(epochs >= 1, "CosineEpochs", "epochs", epochs, "at least 1");
  }
};

/// start + (end - start) * t / warmup_steps before warmup_steps, then another rate.
///
///   LinearWarmup{.warmup_steps = 500, .end = 0.1, .after = Cosine{.learning_rate = 0.1, .t_max = 10'000}}
struct LinearWarmup {
  std::int64_t warmup_steps = 1;  ///< updates, at least 0
  double start = 0;
  double end = 1e-3;
  LearningRate after = 1e-3f;
  bool restart_after = true;  ///< `after` counts from the end of the warm-up; false: from step 0

  double at(std::int64_t t) const {
    if (t < warmup_steps) return start + (end - start) * static_cast<double>(t) / static_cast<double>(warmup_steps);
    return static_cast<double>(after.at(restart_after ? t - warmup_steps : t));
  }
  void check() const { detail::require(warmup_steps >= 0, "LinearWarmup", "warmup_steps", warmup_steps, "at least 0"); }
};

/// learning_rate * t / warmup_steps before warmup_steps, then learning_rate * (1 - min(t, total) / total).
struct LinearWarmupDecay {
  double learning_rate = 1e-3;
  std::int64_t warmup_steps = 1;  ///< updates, at least 0
  std::int64_t total_steps = 1;   ///< updates, at least 1; the decay counts from step 0

  double at(std::int64_t step) const {
    auto const t = static_cast<double>(step), total = static_cast<double>(total_steps);
    if (step < warmup_steps) return learning_rate * t / static_cast<double>(warmup_steps);
    return learning_rate * (1 - std::min(t, total) / total);
  }
  void check() const {
    detail::require(warmup_steps >= 0, "LinearWarmupDecay", "warmup_steps", warmup_steps, "at least 0");
    detail::require(total_steps >= 1, "LinearWarmupDecay", "total_steps", total_steps, "at least 1");
  }
};

/// learning_rate * d_model^-0.5 * min(n^-0.5, n * warmup_steps^-1.5) with n = t + 1.
struct Noam {
  double learning_rate = 1;
  std::int64_t d_model = 512;         ///< width of the model, at least 1
  std::int64_t warmup_steps = 4'000;  ///< updates, at least 1

  double at(std::int64_t t) const {
    auto const n = static_cast<double>(t + 1);
    return learning_rate * std::pow(static_cast<double>(d_model), -0.5) *
           std::min(std::pow(n, -0.5), n * std::pow(static_cast<double>(warmup_steps), -1.5));
  }
  void check() const {
    detail::require(d_model >= 1, "Noam", "d_model", d_model, "at least 1");
    detail::require(warmup_steps >= 1, "Noam", "warmup_steps", warmup_steps, "at least 1");
  }
};

}  // namespace fleet::optim
