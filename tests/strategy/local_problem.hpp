#pragma once
#include <cmath>
#include <string>
#include <vector>

#include <fleet/optim/momentum.hpp>
#include <fleet/train/distribute.hpp>

#include "support/golden.hpp"
#include "support/workers.hpp"

namespace test {

/// The small models that local SGD is checked with: least squares or logistic regression on a worker's own rows.
struct LocalProblem {
  bool logistic;
  std::size_t batch, columns;
  std::vector<float> x, y, weights, gradient;

  LocalProblem(Json const& entry, std::size_t worker)
      : logistic(entry.at("problem") == "logistic"),
        batch(entry.at("batch")),
        x(floats(entry.at("x")[worker])),
        y(floats(entry.at("y")[worker])),
        weights(floats(entry.at("initial"))) {
    columns = weights.size();
    gradient.resize(columns);
  }

  std::vector<fleet::Parameter> parameters() { return {{"w", weights, gradient}}; }

  /// `step` counts from 1.
  float forward_backward(std::size_t step) {
    std::vector<double> sum(columns);
    double loss = 0;
    for (std::size_t i = 0; i < batch; ++i) {
      auto const row = ((step - 1) * batch + i) % y.size();
      double z = 0;
      for (std::size_t j = 0; j < columns; ++j)
        z += static_cast<double>(x[row * columns + j]) * static_cast<double>(weights[j]);
      auto const target = static_cast<double>(y[row]);
      double const error = (logistic ? 1 / (1 + std::exp(-z)) : z) - target;
      loss += logistic ? std::max(z, 0.0) - z * target + std::log1p(std::exp(-std::abs(z))) : error * error / 2;
      for (std::size_t j = 0; j < columns; ++j) sum[j] += error * static_cast<double>(x[row * columns + j]);
    }
    for (std::size_t j = 0; j < columns; ++j) gradient[j] = static_cast<float>(sum[j] / static_cast<double>(batch));
    return static_cast<float>(loss / static_cast<double>(batch));
  }
};

/// The rate with its drops; a golden file counts steps from 1.
struct Drops {
  double rate;
  std::vector<std::pair<std::int64_t, double>> drops;

  double at(std::int64_t t) const {
    double factor = 1;
    for (auto const& [from, drop] : drops)
      if (t + 1 >= from) factor = drop;
    return rate * factor;
  }
};

/// Replays a golden case on one worker; `after(step, trainer)` sees the trainer after each step, counted from 0.
template <class Policy, class After>
void replay_local(fleet::Job& job, Json const& entry, Tolerance tolerance, Policy const& policy, After&& after) {
  auto const own = static_cast<std::size_t>(job.worker_index());
  LocalProblem model{entry, own};
  fleet::optim::Momentum const momentum{.learning_rate = Drops{entry.at("learning_rate"), entry.at("lr_drops")},
                                        .momentum = entry.at("momentum")};
  auto trainer = fleet::distribute(job, model, momentum, fleet::Strategy{policy});
  for (std::size_t step = 0; step < entry.at("parameters").size(); ++step) {
    auto const what = entry.at("name").get<std::string>() + ", step " + std::to_string(step + 1);
    auto const result = trainer.step(step + 1);
    expect_close(std::vector{result.loss}, Json::array({entry.at("losses")[step][own]}), tolerance, what + ", loss");
    auto const& after_step = entry.at("parameters")[step];
    bool const averaged = after_step.size() == 1;
    EXPECT_EQ(averaged, entry.at("communicated").get<std::string>()[step] == '1') << what;
    expect_close(model.weights, after_step[averaged ? 0 : own], tolerance, what);
    after(step, trainer);
  }
}

}  // namespace test
