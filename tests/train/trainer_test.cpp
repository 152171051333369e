#include <fleet/train/trainer.hpp>

#include <array>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include <fleet/core/random.hpp>
#include <fleet/optim/adam.hpp>
#include <fleet/optim/momentum.hpp>
#include <fleet/optim/sgd.hpp>
#include <fleet/train/distribute.hpp>

#include "support/workers.hpp"

namespace {

using Batch = test::Replay::Batch;
using fleet::optim::SGD;

struct Sample {
  std::array<float, 3> x;
  float y;
};

/// Least squares in three weights and a bias.
struct Plane {
  std::vector<float> weight{0.1f, -0.2f, 0.3f}, weight_gradient{0, 0, 0}, bias{0}, bias_gradient{0};

  auto parameters() {
    return std::array{fleet::Parameter{"weight", weight, weight_gradient},
                      fleet::Parameter{"bias", bias, bias_gradient}};
  }
  float forward_backward(std::vector<Sample> const& batch) {
    weight_gradient.assign(3, 0), bias_gradient.assign(1, 0);
    float loss = 0, scale = 1 / static_cast<float>(batch.size());
    for (auto const& [x, y] : batch) {
      float const error = weight[0] * x[0] + weight[1] * x[1] + weight[2] * x[2] + bias[0] - y;
      loss += 0.5f * error * error * scale;
      for (std::size_t i = 0; i < 3; ++i) weight_gradient[i] += error * x[i] * scale;
      bias_gradient[0] += error * scale;
    }
    return loss;
  }
};

/// This worker's share of the global batch of a step: 12 samples, dealt in turn.
std::vector<Sample> share(fleet::Job& job, int step) {
  std::vector<Sample> samples;
  for (int i = job.worker_index(); i < 12; i += job.worker_num()) {
    auto random = fleet::Random{3}.split(step, i);
    Sample sample{{random.normal(), random.normal(), random.normal()}, 0};
    sample.y = 3 * sample.x[0] - 2 * sample.x[1] + sample.x[2] + 0.5f + 0.1f * random.normal();
    samples.push_back(sample);
  }
  return samples;
}

struct Run {
  std::vector<float> parameters;
  std::vector<float> losses;
};

template <class Optimizer>
std::vector<Run> run(int workers, Optimizer optimizer) {
  return test::collect(workers, [&](fleet::Job& job) {
    Plane plane;
    auto trainer = fleet::distribute(job, plane, optimizer);
    Run result;
    for (int step = 0; step < 100; ++step)
      result.losses.push_back(job.all_reduce(trainer.step(share(job, step)).loss) / static_cast<float>(workers));
    result.parameters = plane.weight;
    result.parameters.push_back(plane.bias[0]);
    return result;
  });
}

void expect_near(std::vector<float> const& a, std::vector<float> const& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5 * std::abs(b[i]) + 1e-7) << i;
}

TEST(Trainer, GivesTheSameWithAnyNumberOfWorkers) {
  auto const check = [](auto optimizer) {
    auto const alone = run(1, optimizer)[0];
    for (int workers : {2, 3, 4}) {
      auto const ranks = run(workers, optimizer), again = run(workers, optimizer);
      for (auto const& rank : ranks) {
        expect_near(rank.parameters, alone.parameters);
        expect_near(rank.losses, alone.losses);
        EXPECT_EQ(rank.parameters, ranks[0].parameters) << "all workers hold the same bytes";
        EXPECT_EQ(rank.parameters, again[0].parameters) << "two runs agree to the bit";
      }
    }
  };
  check(SGD{.learning_rate = 0.1f});
  check(fleet::optim::Momentum{.learning_rate = 0.05f, .momentum = 0.9f});
}

TEST(Trainer, StartsAllWorkersFromTheFirstOnes) {
  test::run_workers(3, [](fleet::Job& job) {
    test::Replay model{{"w"}, {{static_cast<float>(job.worker_index() + 5)}}};
    auto trainer = fleet::distribute(job, model, SGD{.learning_rate = 1.0f});
    EXPECT_EQ(model.values[0][0], 5);
  });
}

TEST(Trainer, PairsGradientsByNameInAnyOrderOfReadiness) {
  test::run_workers(2, [](fleet::Job& job) {
    std::size_t const count = 50;
    test::Replay model{std::vector<std::string>(count), std::vector<std::vector<float>>(count, {0, 0})};
    for (std::size_t i = 0; i < count; ++i) model.names[i] = fleet::text("p", i);
    struct Shuffled {
      test::Replay& replay;
      fleet::Random random;
      auto parameters() { return replay.parameters(); }
      float forward_backward(Batch const& batch, fleet::GradientReady ready) {
        std::vector<std::size_t> order(batch.size());
        std::iota(order.begin(), order.end(), 0u);
        random.shuffle(order);
        for (auto i : order) {
          replay.gradients[i].assign(batch[i].begin(), batch[i].end());
          ready(i);
        }
        return 0;
      }
    };
    auto trainer =
        fleet::distribute(job, Shuffled{model, fleet::Random{9}.split(job.worker_index())}, SGD{.learning_rate = 1.0f},
                          fleet::Strategy{fleet::FuseAllReduce{.megabytes = 20e-6}});
    std::vector<double> expected(count);
    for (int step = 0; step < 100; ++step) {
      Batch batch(count);
      for (std::size_t i = 0; i < count; ++i) {
        auto const value = [&](int rank) { return fleet::Random{1}.split(step, i, rank).normal(); };
        batch[i] = {value(job.worker_index()), 10};
        expected[i] -= (value(0) + value(1)) / 2;
      }
      trainer.step(batch);
    }
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_NEAR(model.values[i][0], expected[i], 1e-5);
      EXPECT_EQ(model.values[i][1], -1000);
    }
  });
}

template <class Body>
std::vector<std::string> messages(int workers, Body body) {
  return test::collect(workers, [&](fleet::Job& job) -> std::string {
    try {
      body(job);
    } catch (fleet::Error const& error) {
      return error.what();
    }
    return "no error";
  });
}

TEST(Trainer, RefusesParametersThatDifferBetweenWorkersNamingTheFirst) {
  auto const swapped = messages(2, [](fleet::Job& job) {
    bool const first = job.worker_index() == 0;
    test::Replay model{first ? std::vector<std::string>{"a", "b"} : std::vector<std::string>{"b", "a"}, {{1}, {2}}};
    fleet::distribute(job, model, SGD{});
  });
  for (auto const& message : swapped)
    EXPECT_EQ(message,
              "fleet: parameter 0 differs between workers: worker 0 lists a [1], worker 1 lists b [1]. Build the same "
              "model, in "
              "the same order, on every worker");
  auto const shorter = messages(3, [](fleet::Job& job) {
    test::Replay model{{"a", "b"}, {{1}, {2}}};
    if (job.worker_index() == 2) model.values.pop_back();
    fleet::distribute(job, model, SGD{});
  });
  for (auto const& message : shorter)
    EXPECT_NE(message.find("worker 0 lists b [1], worker 2 lists only 1 parameters"), std::string::npos) << message;
}

TEST(Trainer, TakesFrozenAndThawedParametersOnAllWorkersAlike) {
  test::run_workers(2, [](fleet::Job& job) {
    test::Replay model{{"a", "b"}, {{0}, {0}}};
    auto trainer = fleet::distribute(job, model, SGD{.learning_rate = 1.0f});
    trainer.parameters()[1].trainable = false;
    Batch const batch{{1}, {static_cast<float>(job.worker_index() * 2)}};
    for (int step = 0; step < 3; ++step) trainer.step(batch);
    EXPECT_EQ(model.values[1][0], 0);
    trainer.parameters()[1].trainable = true;
    trainer.step(batch);
    EXPECT_EQ(model.values[1][0], -1);
    EXPECT_EQ(model.values[0][0], -4);
  });
  auto const alone = messages(2, [](fleet::Job& job) {
    test::Replay model{{"a", "b"}, {{0}, {0}}};
    auto trainer = fleet::distribute(job, model, SGD{});
    trainer.parameters()[1].trainable = job.worker_index() == 0;
    trainer.step(Batch{{1}, {1}});
  });
  for (auto const& message : alone)
    EXPECT_EQ(
        message,
        "fleet: parameter b is trainable on worker 0 and frozen on worker 1. Set `trainable` alike on every worker");
}

TEST(Trainer, TakesEmptyParametersAndModelsWithoutAny) {
  test::run_workers(4, [](fleet::Job& job) {
    test::Replay none{{}, {}}, empty{{"e", "f"}, {{}, {}}};
    EXPECT_TRUE(fleet::distribute(job, none, SGD{}).step(Batch{}).applied);
    EXPECT_TRUE(fleet::distribute(job, empty, fleet::optim::Adam{}).step(Batch{{}, {}}).applied);
  });
}

TEST(Trainer, NamesTheWorkerThatLeavesAndTheStep) {
  auto const left = messages(3, [](fleet::Job& job) {
    test::Replay model{{"w"}, {{0}}};
    auto trainer = fleet::distribute(job, model, SGD{.learning_rate = 1.0f});
    int const batches[] = {5, 4, 2};
    for (int step = 0; step < batches[job.worker_index()]; ++step) trainer.step(Batch{{1}});
  });
  EXPECT_EQ(left[2], "no error");
  for (int rank : {0, 1}) {
    EXPECT_NE(left[static_cast<std::size_t>(rank)].find("rank 2"), std::string::npos)
        << left[static_cast<std::size_t>(rank)];
    EXPECT_NE(left[static_cast<std::size_t>(rank)].find("in training step 3"), std::string::npos);
  }
}

TEST(Trainer, RefusesCallsOutOfTurn) {
  test::run_workers(1, [](fleet::Job& job) {
    test::Replay model{{"w"}, {{0}}};
    auto trainer = fleet::distribute(job, model, SGD{});
    EXPECT_THROW(trainer.synchronize(), fleet::ContractError);
    EXPECT_THROW(trainer.update(), fleet::ContractError);
    trainer.forward_backward(Batch{{1}});
    EXPECT_THROW(trainer.forward_backward(Batch{{1}}), fleet::ContractError);
    trainer.synchronize();
    EXPECT_TRUE(trainer.update().applied);
  });
}

TEST(Trainer, CallsTheRichestFormOfTheModel) {
  struct Scaled {
    float value = 0, gradient = 0, scale = 0;
    auto parameters() { return std::array{fleet::Parameter{"w", {&value, 1}, {&gradient, 1}}}; }
    float forward_backward(int, fleet::LossScale loss_scale) {
      scale = loss_scale.value;
      return 2;
    }
  };
  test::run_workers(1, [](fleet::Job& job) {
    Scaled model;
    EXPECT_EQ(fleet::distribute(job, model, SGD{}).step(1).loss, 2);
    EXPECT_EQ(model.scale, 1);
  });
}

}  // namespace
