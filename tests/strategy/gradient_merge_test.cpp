#include <fleet/strategy/gradient_merge.hpp>

#include <limits>
#include <utility>

#include <gtest/gtest.h>

#include <fleet/strategy/clip_gradient_norm.hpp>
#include <fleet/strategy/clip_gradient_value.hpp>
#include <fleet/train/distribute.hpp>

#include "support/golden.hpp"
#include "support/optimizers.hpp"
#include "support/workers.hpp"

namespace {

using test::Json;

test::Replay model_of(Json const& tensors) {
  test::Replay model{{}, {}};
  for (auto const& tensor : tensors) {
    model.names.push_back(tensor.at("name"));
    model.values.push_back(test::floats(tensor));
  }
  model.gradients = model.values;
  return model;
}

/// Replays a golden case on one worker. Limits that limit nothing stand for no clipping.
template <int k>
void replay(fleet::Job& job, Json const& file, Json const& golden_case) {
  constexpr auto infinity = std::numeric_limits<float>::infinity();
  fleet::ClipGradientNorm norm{infinity};
  fleet::ClipGradientValue value{-infinity, infinity};
  if (auto const& clip = golden_case.at("clip"); !clip.is_null()) {
    if (clip.at("kind") == "global_norm")
      norm.threshold = clip.at("threshold").get<float>();
    else if (clip.at("kind") == "value")
      value = {clip.at("min").get<float>(), clip.at("max").get<float>()};
    else
      FAIL() << "no clip named " << clip;
  }
  auto model = model_of(file.at("tensors"));
  auto trainer =
      fleet::distribute(job, model, test::AnyOptimizer{golden_case, model.parameters()},
                        fleet::Strategy{fleet::GradientMerge<k>{.average = golden_case.at("average")}, norm, value});
  auto const updated = golden_case.at("updated").get<std::string>();
  std::size_t windows = 0;
  for (std::size_t step = 0; step < updated.size(); ++step) {
    test::Replay::Batch batch;
    for (auto const& gradient : file.at("gradients")[step][static_cast<std::size_t>(job.worker_index())])
      batch.push_back(test::floats(gradient));
    auto const result = trainer.step(batch);
    ASSERT_EQ(result.applied, updated[step] == '1') << step;
    if (result.applied)
      test::expect_close(std::vector{result.gradient_norm}, Json::array({golden_case.at("window_norms")[windows++]}),
                         test::Tolerance{file}, "norm");
    for (std::size_t i = 0; i < model.values.size(); ++i)
      test::expect_close(model.values[i], golden_case.at("parameters")[step][i], test::Tolerance{file},
                         golden_case.at("name").get<std::string>() + ", step " + std::to_string(step));
  }
}

/// Calls `replay<k>` for the k of the case, which is only known at run time.
template <int... k>
void replay_any(std::integer_sequence<int, k...>, fleet::Job& job, Json const& file, Json const& golden_case) {
  bool const found = ((golden_case.at("k_steps") == k + 1 && (replay<k + 1>(job, file, golden_case), true)) || ...);
  EXPECT_TRUE(found) << "k = " << golden_case.at("k_steps") << " is beyond what this test compiles";
}

TEST(GradientMerge, FollowsTheGoldenRuns) {
  auto const file = test::golden("gradient_merge.json");
  for (auto const& golden_case : file.at("cases"))
    test::run_workers(file.at("workers"), [&](fleet::Job& job) {
      replay_any(std::make_integer_sequence<int, 24>{}, job, file, golden_case);
    });
}

TEST(GradientMerge, ReducesOnceAWindowAtItsEnd) {
  for (bool const average : {false, true})
    test::run_workers(2, [&](fleet::Job& job) {
      test::Replay model{{"w"}, {{0}}};
      auto trainer = fleet::distribute(job, model, fleet::optim::SGD{.learning_rate = 1.0f},
                                       fleet::Strategy{fleet::GradientMerge<2>{.average = average}});
      bool const first = job.worker_index() == 0;
      trainer.step(test::Replay::Batch{{first ? 1.0f : 2.0f}});
      EXPECT_EQ(trainer.reduction().messages, 0u);
      trainer.step(test::Replay::Batch{{first ? 3.0f : 5.0f}});
      EXPECT_EQ(trainer.reduction().messages, 1u);
      EXPECT_EQ(model.values[0][0], average ? -2.75f : -5.5f);
    });
}

TEST(GradientMerge, AppliesOrDropsAShortWindowWithoutALeak) {
  for (bool const keep : {false, true})
    test::run_workers(2, [&](fleet::Job& job) {
      test::Replay model{{"w"}, {{0}}};
      auto trainer = fleet::distribute(job, model, fleet::optim::SGD{.learning_rate = 1.0f},
                                       fleet::Strategy{fleet::GradientMerge<2>{.keep_short = keep}});
      for (int epoch = 1; epoch <= 2; ++epoch) {
        for (int step = 0; step < 5; ++step) trainer.step(test::Replay::Batch{{job.worker_index() == 0 ? 1.0f : 3.0f}});
        EXPECT_EQ(trainer.flush().applied, keep);
        EXPECT_EQ(model.values[0][0], static_cast<float>(epoch) * (keep ? -6.0f : -4.0f));
        EXPECT_FALSE(trainer.flush().applied) << "nothing is left to flush";
      }
    });
}

TEST(GradientMerge, JudgesUseByTheWholeWindowAndAllWorkers) {
  test::run_workers(2, [](fleet::Job& job) {
    test::Replay model{{"p", "q", "s", "u"}, {{1}, {1}, {1}, {1}}};
    fleet::optim::SGD const sgd{.learning_rate = 0.1f, .regularization = fleet::optim::L2{0.1f}};
    auto trainer = fleet::distribute(job, model, sgd, fleet::Strategy{fleet::GradientMerge<2>{.average = false}});
    bool const first = job.worker_index() == 0;
    trainer.step(test::Replay::Batch{{first ? 1.0f : 3.0f}, {}, {}, {}});
    trainer.forward_backward(
        test::Replay::Batch{{}, {first ? 10.0f : 30.0f}, {}, first ? std::vector<float>{4} : std::vector<float>{}});
    trainer.synchronize();
    auto const gradients = trainer.gradients();
    EXPECT_EQ(gradients[0].gradient[0], 2);
    EXPECT_EQ(gradients[1].gradient[0], 20);
    EXPECT_EQ(gradients[3].gradient[0], 2);
    trainer.update();
    EXPECT_EQ(model.values[2][0], 1) << "no decay without a gradient";
    EXPECT_NEAR(model.values[0][0], 1 - 0.1 * (2 + 0.1), 1e-6);
  });
}

}  // namespace
