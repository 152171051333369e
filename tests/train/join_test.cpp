#include <fleet/strategy/join.hpp>

#include <gtest/gtest.h>

#include <fleet/optim/sgd.hpp>
#include <fleet/train/distribute.hpp>

#include "support/workers.hpp"

namespace {

using Mode = fleet::Join::Mode;

/// Trains one scalar from 0 with rate 1; the gradient of rank r is always r + 1. Returns it after each epoch.
std::vector<std::vector<float>> run(Mode mode, std::vector<int> batches) {
  return test::collect(static_cast<int>(batches.size()), [&](fleet::Job& job) {
    test::Replay model{{"w"}, {{0}}};
    auto trainer =
        fleet::distribute(job, model, fleet::optim::SGD{.learning_rate = 1.0f}, fleet::Strategy{fleet::Join{mode}});
    std::vector<float> after;
    for (int epoch = 0; epoch < 2; ++epoch) {
      for (int step = 0; step < batches[static_cast<std::size_t>(job.worker_index())] && !trainer.finished(); ++step)
        trainer.step(test::Replay::Batch{{static_cast<float>(job.worker_index() + 1)}});
      trainer.join();
      after.push_back(model.values[0][0]);
    }
    return after;
  });
}

void expect(std::vector<std::vector<float>> const& ranks, float epoch) {
  for (auto const& rank : ranks) {
    EXPECT_NEAR(rank[0], epoch, 1e-6);
    EXPECT_NEAR(rank[1], 2 * epoch, 2e-6);
    EXPECT_EQ(rank, ranks[0]) << "all workers equal";
  }
}

TEST(Join, AveragesOverTheWorkersThatStillHaveBatches) { expect(run(Mode::mean_of_active, {5, 4, 2}), -8); }

TEST(Join, CountsTheAbsentAsZero) { expect(run(Mode::absent_as_zero, {5, 4, 2}), -6.3333333f); }

TEST(Join, StopsAtTheShortest) { expect(run(Mode::stop_at_shortest, {5, 4, 2}), -4); }

TEST(Join, TakesAWorkerWithoutAnyBatch) {
  expect(run(Mode::mean_of_active, {0, 2, 2}), -5);
  expect(run(Mode::stop_at_shortest, {0, 2, 2}), 0);
  expect(run(Mode::mean_of_active, {0, 0}), 0);
}

}  // namespace
