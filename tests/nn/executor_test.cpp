#include <fleet/nn/onednn/executor.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "nn/probe.hpp"

namespace nn = fleet::nn;

namespace {

std::vector<float> copy(std::span<float const> values) { return {values.begin(), values.end()}; }

test::Batch random_batch(fleet::Shape const& shape, std::uint64_t classes, std::uint64_t seed = 7) {
  test::Batch batch{fleet::Tensor<float>{shape}, fleet::Tensor<std::int64_t>{{shape[0]}}, {}};
  fleet::Random random{seed};
  for (auto& value : batch.inputs.span()) value = 2 * random.uniform() - 1;
  for (auto& label : batch.labels.span()) label = static_cast<std::int64_t>(random.below(classes));
  return batch;
}

auto small_network() {
  return nn::Sequential{nn::Conv2d{1, 3, 3, {.name = "conv"}},
                        nn::ReLU{},
                        nn::MaxPool2d{2},
                        nn::Flatten{},
                        nn::Linear{27, 5, {.name = "fc"}},
                        nn::Tanh{},
                        nn::Linear{5, 4, {.bias = false}}};
}

TEST(Executor, ParametersAreNamedAndListedInTheOrderOfTheLayers) {
  nn::Executor executor{small_network(), nn::SoftmaxCrossEntropy{}};
  std::vector<std::string> names;
  for (auto const& parameter : executor.parameters()) names.push_back(parameter.name + " " + parameter.shape.text());
  EXPECT_EQ(names, (std::vector<std::string>{"conv.weight [3, 1, 3, 3]", "conv.bias [3]", "fc.weight [5, 27]",
                                             "fc.bias [5]", "6.weight [4, 5]"}));
}

TEST(Executor, NestedLayersAreCalledAfterTheWayToThem) {
  nn::Executor executor{nn::Sequential{nn::Linear{3, 4}, nn::Residual{nn::Sequential{nn::Linear{4, 4}, nn::ReLU{}},
                                                                      nn::Linear{4, 4, {.bias = false}}}},
                        nn::MeanSquaredError{}};
  std::vector<std::string> names;
  for (auto const& parameter : executor.parameters()) names.push_back(parameter.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"0.weight", "0.bias", "1.main.0.weight", "1.main.0.bias", "1.shortcut.weight"}));
}

TEST(Executor, ValuesAndGradientsLieSideBySideFromTheLastToTheFirst) {
  nn::Executor executor{small_network(), nn::SoftmaxCrossEntropy{}};
  auto const parameters = executor.parameters();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(executor.flat_values().data()) % 64, 0u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(executor.flat_gradients().data()) % 64, 0u);
  std::size_t offset = 0;
  for (std::size_t i = parameters.size(); i-- > 0; offset += parameters[i].value.size()) {
    EXPECT_EQ(parameters[i].value.data(), executor.flat_values().data() + offset);
    EXPECT_EQ(parameters[i].gradient.data(), executor.flat_gradients().data() + offset);
  }
  EXPECT_EQ(offset, executor.flat_values().size());
  EXPECT_EQ(offset, executor.flat_gradients().size());
}

TEST(Executor, FirstValuesFollowFromTheSeedAlone) {
  auto const values = [](std::uint64_t seed, int rank) {
    nn::Executor executor{small_network(), nn::SoftmaxCrossEntropy{}, {.seed = seed, .rank = rank}};
    return copy(executor.flat_values());
  };
  EXPECT_EQ(values(3, 0), values(3, 5));
  EXPECT_NE(values(3, 0), values(4, 0));
  nn::Executor executor{nn::Linear{100, 50}, nn::MeanSquaredError{}};
  float const width = std::sqrt(6.0f / 150);
  auto const weight = executor.parameters()[0].value;
  auto const [least, greatest] = std::minmax_element(weight.begin(), weight.end());
  EXPECT_NEAR(*least, -width, 0.01f * width);
  EXPECT_NEAR(*greatest, width, 0.01f * width);
  for (float const value : executor.parameters()[1].value) EXPECT_EQ(value, 0);
}

TEST(Executor, GradientsAreReportedOnceFromTheLastToTheFirstAndAreFinalThen) {
  nn::Executor executor{small_network(), nn::SoftmaxCrossEntropy{}};
  auto const batch = random_batch({6, 1, 8, 8}, 4);
  std::vector<std::size_t> order;
  std::vector<std::vector<float>> when_ready(executor.parameters().size());
  executor.forward_backward(batch, [&](std::size_t i) {
    order.push_back(i);
    when_ready[i] = copy(executor.parameters()[i].gradient);
  });
  EXPECT_EQ(order, (std::vector<std::size_t>{4, 3, 2, 1, 0}));
  for (std::size_t i = 0; i < when_ready.size(); ++i)
    EXPECT_EQ(when_ready[i], copy(executor.parameters()[i].gradient)) << i;
}

TEST(Executor, TheScaleIsInTheGradientsAndNotInTheLoss) {
  nn::Executor executor{small_network(), nn::SoftmaxCrossEntropy{}};
  auto const batch = random_batch({6, 1, 8, 8}, 4);
  float const loss = executor.forward_backward(batch);
  auto const plain = copy(executor.flat_gradients());
  EXPECT_EQ(executor.forward_backward(batch, fleet::LossScale{1024}), loss);
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_EQ(executor.flat_gradients()[i], 1024 * plain[i]);
}

TEST(Executor, BatchesOfChangingSizesDoNotDisturbEachOther) {
  nn::Executor executor{small_network(), nn::SoftmaxCrossEntropy{}};
  std::vector<std::vector<float>> first;
  for (int round = 0; round < 3; ++round)
    for (std::int64_t const size : {6, 1, 17, 3}) {
      auto const batch = random_batch({size, 1, 8, 8}, 4, static_cast<std::uint64_t>(size));
      executor.forward_backward(batch);
      auto const output = executor.predict(batch);
      EXPECT_EQ(output.shape, (fleet::Shape{size, 4}));
      auto both = copy(output.values);
      both.insert(both.end(), executor.flat_gradients().begin(), executor.flat_gradients().end());
      if (round == 0)
        first.push_back(both);
      else
        EXPECT_EQ(both, first[static_cast<std::size_t>(size == 6 ? 0 : size == 1 ? 1 : size == 17 ? 2 : 3)]);
    }
}

TEST(Executor, MoreShapesThanPlansAreKept) {
  nn::Executor executor{nn::Linear{3, 2}, nn::SoftmaxCrossEntropy{}};
  for (int round = 0; round < 2; ++round)
    for (std::int64_t size = 1; size <= 40; ++size)
      EXPECT_GT(executor.forward_backward(random_batch({size, 3}, 2)), 0.0f);
}

TEST(Executor, TheMeanOfTheSharesIsTheWhole) {
  nn::Executor executor{small_network(), nn::SoftmaxCrossEntropy{}};
  auto const whole = random_batch({8, 1, 8, 8}, 4);
  std::vector<float> mean(executor.flat_gradients().size());
  for (std::int64_t part = 0; part < 4; ++part) {
    test::Batch share{fleet::Tensor<float>{{2, 1, 8, 8}}, fleet::Tensor<std::int64_t>{{2}}, {}};
    std::copy_n(whole.inputs.data() + part * 128, 128, share.inputs.data());
    std::copy_n(whole.labels.data() + part * 2, 2, share.labels.data());
    executor.forward_backward(share);
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += executor.flat_gradients()[i] / 4;
  }
  executor.forward_backward(whole);
  for (std::size_t i = 0; i < mean.size(); ++i) EXPECT_NEAR(executor.flat_gradients()[i], mean[i], 1e-6f);
}

TEST(Executor, AnEmptyBatchHasNoLossAndNoGradients) {
  nn::Executor executor{small_network(), nn::SoftmaxCrossEntropy{}};
  executor.forward_backward(random_batch({3, 1, 8, 8}, 4));
  std::size_t reported = 0;
  EXPECT_EQ(executor.forward_backward(random_batch({0, 1, 8, 8}, 4), [&](std::size_t) { ++reported; }), 0.0f);
  EXPECT_EQ(reported, executor.parameters().size());
  for (float const gradient : executor.flat_gradients()) EXPECT_EQ(gradient, 0);
  EXPECT_EQ(executor.predict(random_batch({0, 1, 8, 8}, 4)).shape, (fleet::Shape{0, 4}));
}

TEST(Executor, AMovedExecutorGoesOnWithItsParameters) {
  nn::Executor executor{small_network(), nn::SoftmaxCrossEntropy{}};
  auto const batch = random_batch({3, 1, 8, 8}, 4);
  float const loss = executor.forward_backward(batch);
  auto const* const values = executor.flat_values().data();
  auto moved = std::move(executor);
  EXPECT_EQ(moved.flat_values().data(), values);
  EXPECT_EQ(moved.forward_backward(batch), loss);
}

TEST(Executor, TrainsUntilItKnowsABatch) {
  nn::Executor executor{small_network(), nn::SoftmaxCrossEntropy{}};
  auto const batch = random_batch({20, 1, 8, 8}, 4);
  float const first = executor.forward_backward(batch);
  float last = first;
  for (int step = 0; step < 300; ++step) {
    for (std::size_t i = 0; i < executor.flat_values().size(); ++i)
      executor.flat_values()[i] -= 0.3f * executor.flat_gradients()[i];
    last = executor.forward_backward(batch);
  }
  EXPECT_NEAR(first, std::log(4.0f), 1.0f);
  EXPECT_LT(last, 0.1f);
}

}  // namespace
