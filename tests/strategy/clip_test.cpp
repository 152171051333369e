#include <fleet/strategy/clip_gradient_norm.hpp>

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <fleet/optim/sgd.hpp>
#include <fleet/strategy/clip_gradient_value.hpp>
#include <fleet/strategy/gradient_merge.hpp>
#include <fleet/train/distribute.hpp>

#include "support/workers.hpp"

namespace {

using Batch = test::Replay::Batch;

void expect_step(std::vector<float> const& value, float first, float second) {
  EXPECT_NEAR(value[0], -first, 1e-6);
  EXPECT_NEAR(value[1], -second, 1e-6);
}

TEST(ClipGradientNorm, ActsOnTheGradientAveragedOverWorkersAndWindow) {
  auto const run = [](int workers, auto strategy, int steps) {
    test::run_workers(workers, [&](fleet::Job& job) {
      test::Replay model{{"w"}, {{0, 0}}};
      auto trainer = fleet::distribute(job, model, fleet::optim::SGD{.learning_rate = 1.0f}, strategy);
      fleet::StepResult result;
      for (int step = 0; step < steps; ++step)
        result = trainer.step(workers == 1 ? Batch{{3, 4}} : job.worker_index() == 0 ? Batch{{6, 0}} : Batch{{0, 8}});
      expect_step(model.values[0], 0.6f, 0.8f);
      EXPECT_NEAR(result.gradient_norm, 5, 1e-6);
    });
  };
  run(1, fleet::Strategy{fleet::ClipGradientNorm{1}}, 1);
  run(2, fleet::Strategy{fleet::ClipGradientNorm{1}}, 1);
  run(2, fleet::Strategy{fleet::ClipGradientNorm{1}, fleet::GradientMerge<2>{}}, 2);
}

TEST(ClipGradientNorm, LetsTheCallerLookAndSkip) {
  test::run_workers(2, [](fleet::Job& job) {
    test::Replay model{{"w"}, {{0, 0}}};
    auto trainer = fleet::distribute(job, model, fleet::optim::SGD{.learning_rate = 1.0f},
                                     fleet::Strategy{fleet::ClipGradientNorm{1}});
    Batch const batch = job.worker_index() == 0 ? Batch{{6, 0}} : Batch{{0, 8}};
    trainer.forward_backward(batch);
    trainer.synchronize();
    EXPECT_EQ(trainer.gradients()[0].gradient[1], 4);
    EXPECT_FALSE(trainer.skip_update().applied);
    EXPECT_EQ(model.values[0], (std::vector<float>{0, 0}));
    EXPECT_TRUE(trainer.step(batch).applied);
    expect_step(model.values[0], 0.6f, 0.8f);
  });
}

TEST(ClipGradientNorm, SkipsAStepWhoseNormIsNotFinite) {
  test::run_workers(2, [](fleet::Job& job) {
    test::Replay model{{"w"}, {{0, 0}}};
    auto trainer = fleet::distribute(job, model, fleet::optim::SGD{.learning_rate = 1.0f},
                                     fleet::Strategy{fleet::ClipGradientNorm{1}});
    auto const infinite = std::numeric_limits<float>::infinity();
    auto const result = trainer.step(job.worker_index() == 0 ? Batch{{infinite, 0}} : Batch{{0, 8}});
    EXPECT_FALSE(result.applied);
    EXPECT_EQ(result.gradient_norm, infinite);
    EXPECT_EQ(result.skipped, "the gradient norm is inf");
    EXPECT_EQ(model.values[0], (std::vector<float>{0, 0}));
    EXPECT_EQ(trainer.updates(), 0);
  });
}

TEST(ClipGradientNorm, CountsEmptyParametersAsNothing) {
  test::run_workers(4, [](fleet::Job& job) {
    test::Replay model{{"a", "b", "c", "d"}, {{}, {}, {0}, {0, 0, 0}}};
    auto trainer = fleet::distribute(job, model, fleet::optim::SGD{.learning_rate = 1.0f},
                                     fleet::Strategy{fleet::ClipGradientNorm{1000}});
    auto const g = static_cast<float>(job.worker_index() + 1);
    for (int step = 0; step < 3; ++step) EXPECT_EQ(trainer.step(Batch{{}, {}, {g}, {g, g, g}}).gradient_norm, 5);
    EXPECT_EQ(model.values[2], (std::vector<float>{-7.5f}));
    EXPECT_EQ(model.values[3], (std::vector<float>(3, -7.5f)));
  });
}

TEST(ClipGradientValue, KeepsEachElementOfTheMeanBetweenTheLimits) {
  test::run_workers(2, [](fleet::Job& job) {
    test::Replay model{{"w"}, {{0, 0, 0}}};
    auto trainer = fleet::distribute(job, model, fleet::optim::SGD{.learning_rate = 1.0f},
                                     fleet::Strategy{fleet::ClipGradientValue{.lower = -1, .upper = 2}});
    trainer.step(job.worker_index() == 0 ? Batch{{-6, 1, 8}} : Batch{{0, 0, 0}});
    EXPECT_EQ(model.values[0], (std::vector<float>{1, -0.5f, -2}));
  });
}

}  // namespace
