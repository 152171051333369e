// Networks of fleet::nn trained by the trainer: any number of workers gives what one gives.
#include <cmath>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <fleet/core/random.hpp>
#include <fleet/data/data_loader.hpp>
#include <fleet/data/tensor_dataset.hpp>
#include <fleet/nn/activation.hpp>
#include <fleet/nn/conv2d.hpp>
#include <fleet/nn/dropout.hpp>
#include <fleet/nn/flatten.hpp>
#include <fleet/nn/linear.hpp>
#include <fleet/nn/onednn/executor.hpp>
#include <fleet/nn/pool2d.hpp>
#include <fleet/nn/sequential.hpp>
#include <fleet/optim/momentum.hpp>
#include <fleet/strategy/gradient_merge.hpp>
#include <fleet/train/distribute.hpp>

#include "support/workers.hpp"

namespace {

namespace nn = fleet::nn;

constexpr std::int64_t global_batch = 24;

/// 240 pictures of 1 x 8 x 8 with one of 4 labels, a pattern a label with noise.
fleet::data::TensorDataset pictures() {
  fleet::Tensor<float> inputs{{240, 1, 8, 8}};
  fleet::Tensor<std::int64_t> labels{{240}};
  fleet::Random random{11};
  for (std::size_t i = 0; i < 240; ++i) {
    labels[i] = static_cast<std::int64_t>(i % 4);
    for (std::size_t j = 0; j < 64; ++j)
      inputs[i * 64 + j] = 0.3f * random.normal() + (j % 4 == i % 4 ? 1.0f : 0.0f) * (j / 16 == i % 4 ? 1.0f : 0.2f);
  }
  return fleet::data::TensorDataset{{.inputs = std::move(inputs), .labels = std::move(labels)}};
}

auto network() {
  return nn::Sequential{nn::Conv2d{1, 6, 3, {.padding = 1}},
                        nn::ReLU{},
                        nn::MaxPool2d{2},
                        nn::Conv2d{6, 6, 3, {.padding = 1}},
                        nn::ReLU{},
                        nn::MaxPool2d{2},
                        nn::Flatten{},
                        nn::Linear{24, 4}};
}

struct Run {
  std::vector<float> parameters, losses;
};

template <class Network>
std::vector<Run> run(int workers, Network const& layers, int steps) {
  auto const dataset = pictures();
  return test::collect(workers, [&](fleet::Job& job) {
    fleet::data::DataLoader loader{dataset, job, {.batch_size = global_batch / workers, .shuffle = true}};
    auto trainer = fleet::distribute(job, layers, nn::SoftmaxCrossEntropy{},
                                     fleet::optim::Momentum{.learning_rate = 0.02f, .momentum = 0.9f});
    Run result;
    while (static_cast<int>(result.losses.size()) < steps)
      for (auto const& batch : loader) {
        result.losses.push_back(job.all_reduce(trainer.step(batch).loss) / static_cast<float>(workers));
        if (static_cast<int>(result.losses.size()) == steps) break;
      }
    for (auto const& parameter : trainer.parameters())
      result.parameters.insert(result.parameters.end(), parameter.value.begin(), parameter.value.end());
    return result;
  });
}

/// Within 1e-5 of the size of the whole, as single elements may pass through 0.
void expect_near(std::vector<float> const& a, std::vector<float> const& b) {
  ASSERT_EQ(a.size(), b.size());
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
    size += std::pow(static_cast<double>(b[i]), 2);
  }
  EXPECT_LE(std::sqrt(difference), 1e-5 * std::sqrt(size));
}

TEST(Network, GivesTheSameWithAnyNumberOfWorkers) {
  auto const alone = run(1, network(), 100)[0];
  EXPECT_LT(alone.losses.back(), 0.5f * alone.losses.front()) << "it learns";
  for (int workers : {2, 3, 4}) {
    SCOPED_TRACE(workers);
    auto const ranks = run(workers, network(), 100), again = run(workers, network(), 100);
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      expect_near(ranks[rank].parameters, alone.parameters);
      expect_near(ranks[rank].losses, alone.losses);
      EXPECT_EQ(ranks[rank].parameters, ranks[0].parameters) << "all workers hold the same bytes";
      EXPECT_EQ(again[rank].parameters, ranks[0].parameters) << "two runs agree to the bit";
      EXPECT_EQ(again[rank].losses, ranks[rank].losses);
    }
  }
}

TEST(Network, DrawsOtherDropoutMasksOnEachRankAndTheSameInARerun) {
  auto const layers = nn::Sequential{nn::Flatten{}, nn::Linear{64, 32}, nn::Dropout{0.5f}, nn::Linear{32, 4}};
  auto const ranks = run(2, layers, 20), again = run(2, layers, 20);
  EXPECT_EQ(ranks[0].parameters, ranks[1].parameters);
  EXPECT_EQ(ranks[0].parameters, again[0].parameters);
}

TEST(Network, ReducesInPlace) {
  auto const dataset = pictures();
  test::run_workers(2, [&](fleet::Job& job) {
    fleet::data::DataLoader loader{dataset, job, {.batch_size = 12}};
    auto trainer = fleet::distribute(job, network(), nn::SoftmaxCrossEntropy{}, fleet::optim::Momentum{});
    for (auto const& batch : loader) trainer.step(batch);
    EXPECT_EQ(trainer.reduction().bytes_copied, 0u);
    EXPECT_EQ(trainer.reduction().message_bytes.size(), 1u);
  });
}

}  // namespace
