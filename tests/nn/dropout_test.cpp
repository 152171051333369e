#include <fleet/nn/dropout.hpp>

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "nn/probe.hpp"
#include "support/golden.hpp"

namespace nn = fleet::nn;

namespace {

constexpr std::int64_t count = 4001;  // odd, so that a last element stands alone

/// One training step with dropout on a batch of ones: the result, told from the gradient. For the mean of (y - t)^2
/// with t = 0 the gradient of the probe is 2 y m / n, m = 0 or the factor, so that y = m follows.
struct Masks {
  explicit Masks(nn::Dropout const& layer, std::uint64_t seed = 1, int rank = 0)
      : executor{nn::Sequential{test::Probe{{1, count}}, layer}, nn::MeanSquaredError{}, {.seed = seed, .rank = rank}} {
    batch.inputs.reshape({1, count}), batch.targets.reshape({1, count});
    for (auto& value : batch.inputs.span()) value = 1;
  }
  std::vector<float> next() {
    executor.forward_backward(batch);
    std::vector<float> mask;
    for (float const gradient : executor.parameters()[0].gradient)
      mask.push_back(std::sqrt(gradient * static_cast<float>(count) / 2));
    return mask;
  }
  nn::Executor<nn::Sequential<test::Probe, nn::Dropout>, nn::MeanSquaredError> executor;
  test::Batch batch;
};

TEST(Dropout, DropsAsManyAsItShouldAndScalesTheRest) {
  for (float const probability : {0.0f, 0.1f, 0.5f, 0.9f}) {
    int kept = 0;
    for (float const factor : Masks{nn::Dropout{probability}}.next()) {
      if (factor == 0) continue;
      ++kept;
      EXPECT_NEAR(factor, 1 / (1 - probability), 1e-4f);
    }
    EXPECT_NEAR(static_cast<float>(kept) / static_cast<float>(count), 1 - probability, 0.03f);
  }
}

TEST(Dropout, DownscaleInInferKeepsTheRestAsItIs) {
  Masks masks{nn::Dropout{0.25f, nn::DropoutMode::downscale_in_infer}};
  for (float const factor : masks.next()) EXPECT_TRUE(factor == 0 || std::abs(factor - 1) < 1e-5f);
  for (float const value : masks.executor.predict(masks.batch).values) EXPECT_EQ(value, 0.75f);
}

TEST(Dropout, UpscaleInTrainLeavesInferenceAlone) {
  Masks masks{nn::Dropout{0.25f}};
  masks.next();
  for (float const value : masks.executor.predict(masks.batch).values) EXPECT_EQ(value, 1);
}

TEST(Dropout, MasksDifferBetweenStepsRanksSeedsAndPlaces) {
  Masks masks{nn::Dropout{}};
  auto const first = masks.next();
  EXPECT_NE(first, masks.next());
  EXPECT_NE(first, (Masks{nn::Dropout{}, 1, 1}.next()));
  EXPECT_NE(first, (Masks{nn::Dropout{}, 2, 0}.next()));

  nn::Executor twice{nn::Sequential{test::Probe{{1, count}}, nn::Dropout{}, nn::Dropout{}}, nn::MeanSquaredError{}};
  twice.forward_backward(masks.batch);
  auto const gradient = twice.parameters()[0].gradient;
  auto const kept = std::count_if(gradient.begin(), gradient.end(), [](float g) { return g != 0; });
  EXPECT_NEAR(static_cast<float>(kept) / static_cast<float>(count), 0.25f, 0.03f);
}

TEST(Dropout, ARerunAndAResumedRunRepeatTheMasks) {
  Masks one{nn::Dropout{}, 5, 2}, other{nn::Dropout{}, 5, 2}, resumed{nn::Dropout{}, 5, 2};
  std::vector<std::vector<float>> masks;
  for (int step = 0; step < 4; ++step) {
    masks.push_back(one.next());
    EXPECT_EQ(masks.back(), other.next());
  }
  EXPECT_EQ(one.executor.step(), 4u);
  resumed.executor.set_step(2);
  EXPECT_EQ(resumed.next(), masks[2]);
  EXPECT_EQ(resumed.next(), masks[3]);
}

TEST(Dropout, PredictingDoesNotMoveTheStep) {
  Masks one{nn::Dropout{}}, other{nn::Dropout{}};
  one.next(), other.next();
  one.executor.predict(one.batch);
  EXPECT_EQ(one.next(), other.next());
}

/// The golden cases come with their masks: what is kept, and by which factor, must give their results.
TEST(Dropout, TheFactorsAreThoseOfTheGoldenValues) {
  auto const file = test::golden("nn_embedding_dropout.json");
  test::Tolerance const tolerance{file};
  int cases = 0;
  for (auto const& each : file.at("cases")) {
    if (each.at("layer") != "dropout") continue;
    ++cases;
    auto const& settings = each.at("attributes");
    nn::Dropout const layer{settings.at("probability").get<float>(), settings.at("mode") == "upscale_in_train"
                                                                         ? nn::DropoutMode::upscale_in_train
                                                                         : nn::DropoutMode::downscale_in_infer};
    auto const factors = Masks{layer}.next();
    float const factor = *std::max_element(factors.begin(), factors.end());
    auto const mask = test::floats(each.at("inputs").at("mask")), x = test::floats(each.at("inputs").at("x"));
    auto const slope = test::floats(each.at("output_gradients").at("y"));
    std::vector<float> y, gradient;
    for (std::size_t i = 0; i < x.size(); ++i) {
      y.push_back(x[i] * mask[i] * factor);
      gradient.push_back(slope[i] * mask[i] * factor);
    }
    test::expect_close(y, each.at("outputs").at("y"), tolerance, each.at("name"));
    test::expect_close(gradient, each.at("gradients").at("x"), tolerance, each.at("name"));
  }
  EXPECT_GT(cases, 0);
}

}  // namespace
