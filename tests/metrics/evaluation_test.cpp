#include <fleet/data/data_loader.hpp>
#include <fleet/data/tensor_dataset.hpp>
#include <fleet/metrics/accuracy.hpp>
#include <fleet/metrics/auc.hpp>
#include <fleet/metrics/regression.hpp>

#include <vector>

#include <gmock/gmock.h>

#include "support/files.hpp"
#include "support/workers.hpp"

namespace {

using fleet::data::DataLoader;
using fleet::data::TensorDataset;
using fleet::metrics::EmptyMetric;

/// Rows of scores with their labels; the labels are the targets too.
TensorDataset rows(std::vector<std::vector<float>> const& scores, std::vector<std::int64_t> const& labels) {
  auto const count = static_cast<std::int64_t>(scores.size());
  auto const width = scores.empty() ? 1 : static_cast<std::int64_t>(scores[0].size());
  TensorDataset::Columns columns{.inputs = fleet::Tensor<float>{{count, width}},
                                 .labels = fleet::Tensor<std::int64_t>{{count}}};
  float* next = columns.inputs.data();
  for (auto const& row : scores) next = std::copy(row.begin(), row.end(), next);
  std::copy(labels.begin(), labels.end(), columns.labels.data());
  return TensorDataset{std::move(columns)};
}

/// Evaluates a network that hands its inputs on.
template <class Metric>
double evaluate(fleet::Job& job, TensorDataset const& dataset, Metric const& metric, std::int64_t batch_size = 4) {
  DataLoader loader{dataset, job, {.batch_size = batch_size, .shuffle = true, .drop_last = true}};
  auto state = metric.start();
  for (auto const& batch : loader.each_once()) state.update(batch.inputs.span(), batch.inputs.shape(), batch);
  state.reduce(job.communicator());
  return state.value();
}

template <class Metric>
void expect_everywhere(double expected, TensorDataset const& dataset, Metric const& metric) {
  for (int workers = 1; workers <= 8; ++workers) {
    auto const values = test::collect(workers, [&](fleet::Job& job) { return evaluate(job, dataset, metric); });
    for (auto value : values) EXPECT_DOUBLE_EQ(value, expected) << workers << " workers";
  }
}

TEST(Evaluation, CountsEachOf21SamplesOnce) {
  std::vector<std::vector<float>> scores(21, {0, 1});
  std::vector<std::int64_t> labels(21, 1);
  labels[0] = 0;
  expect_everywhere(20.0 / 21, rows(scores, labels), fleet::metrics::Accuracy{});
}

TEST(Evaluation, LeavesWorkersWithoutSamplesIdle) {
  expect_everywhere(1.0 / 3, rows({{0, 1}, {0, 1}, {0, 1}}, {0, 1, 0}), fleet::metrics::Accuracy{});
}

TEST(Evaluation, JoinsTheScoresOfWorkersThatHoldOneClass) {
  // One batch of each; two workers hold the places 0 and 2, 1 and 3.
  expect_everywhere(0.75, rows({{.1f}, {.4f}, {.35f}, {.8f}}, {0, 0, 1, 1}), fleet::metrics::AUC{});
  expect_everywhere(0.75, rows({{.1f}, {.35f}, {.4f}, {.8f}}, {0, 1, 0, 1}), fleet::metrics::AUC{});
  expect_everywhere(0.75, rows({{.1f}, {.4f}, {.35f}, {.8f}}, {0, 0, 1, 1}),
                    fleet::metrics::AUC{.num_thresholds = 4095});
  expect_everywhere(0.75, rows({{.1f}, {.35f}, {.4f}, {.8f}}, {0, 1, 0, 1}),
                    fleet::metrics::AUC{.num_thresholds = 4095});
}

TEST(Evaluation, HasAnAreaOfOneHalfForOneClass) {
  expect_everywhere(0.5, rows({{.1f}, {.4f}, {.35f}}, {1, 1, 1}), fleet::metrics::AUC{});
}

TEST(Evaluation, SaysOnAllWorkersThatThereAreNoSamples) {
  auto const nothing = rows({}, {});
  for (int workers : {1, 3}) {
    auto const messages = test::collect(workers, [&](fleet::Job& job) {
      return std::vector{test::message_of<EmptyMetric>([&] { evaluate(job, nothing, fleet::metrics::Accuracy{}); }),
                         test::message_of<EmptyMetric>([&] { evaluate(job, nothing, fleet::metrics::AUC{}); })};
    });
    for (auto const& message : messages)
      EXPECT_THAT(message, testing::Each(testing::HasSubstr("no worker had a sample")));
  }
}

}  // namespace
