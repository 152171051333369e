#include <fleet/metrics/accuracy.hpp>

#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>

#include "support/files.hpp"
#include "support/golden.hpp"
#include "support/workers.hpp"

namespace {

using fleet::ContractError;
using fleet::Shape;
using fleet::metrics::Accuracy;
using fleet::metrics::Truth;
using testing::AllOf;
using testing::HasSubstr;

static_assert(fleet::metrics::Metric<Accuracy>);

double accuracy(std::vector<float> const& scores, std::vector<std::int64_t> const& labels, int k = 1) {
  auto state = Accuracy{.k = k}.start();
  auto const rows = static_cast<std::int64_t>(labels.size());
  state.update(scores, {rows, static_cast<std::int64_t>(scores.size()) / rows}, Truth{labels, {}});
  return state.value();
}

TEST(Accuracy, IsWhatTheGoldenFileSaysForOneWorkerAShard) {
  auto const file = test::golden("metrics.json");
  test::Tolerance const tolerance{file};
  for (auto const& right : file.at("accuracy")) {
    auto const& shards = right.at("shards");
    for (int k : {1, 5}) {
      auto const name = "top" + std::to_string(k);
      auto const values = test::collect(static_cast<int>(shards.size()), [&](fleet::Job& job) {
        auto const& shard = shards.at(static_cast<std::size_t>(job.worker_index()));
        auto state = Accuracy{.k = k}.start();
        auto const scores = test::floats(shard.at("scores"));
        auto const labels = shard.at("labels").get<std::vector<std::int64_t>>();
        state.update(scores, test::shape(shard.at("scores")), Truth{labels, {}});
        EXPECT_EQ(state.correct(), shard.at(name + "_correct").get<std::int64_t>());
        state.reduce(job.communicator());
        EXPECT_EQ(state.total(), right.at("total").get<std::int64_t>());
        return state.value();
      });
      for (auto value : values)
        test::expect_close(std::vector{value}, test::Json::array({right.at(name)}), tolerance, right.at("name"));
    }
  }
}

TEST(Accuracy, GivesATieToTheLowerClass) {
  EXPECT_EQ(accuracy({1, 1, 1}, {0}), 1);
  EXPECT_EQ(accuracy({1, 1, 1}, {1}), 0);
  EXPECT_EQ(accuracy({1, 1, 1}, {1}, 2), 1);
  EXPECT_EQ(accuracy({1, 2, 3, 3, 2, 1}, {2, 1}), 0.5);
}

TEST(Accuracy, NeverCountsWhatIsNoNumberAsRight) {
  float const nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(accuracy({nan, nan, nan}, {0}, 2), 0);
  EXPECT_EQ(accuracy({1, nan, 0}, {0}), 0);
  EXPECT_EQ(accuracy({1, nan, 0}, {1}), 0);
  EXPECT_EQ(accuracy({1, nan, 0}, {0}, 2), 1);
}

TEST(Accuracy, SumsItsUpdates) {
  auto state = Accuracy{}.start();
  std::vector<float> const scores{1, 0};
  for (std::int64_t label : {0, 1, 0, 0}) state.update(scores, {1, 2}, Truth{{&label, 1}, {}});
  EXPECT_EQ(state.value(), 0.75);
}

TEST(Accuracy, RefusesWhatDoesNotFit) {
  std::vector<float> const scores(6);
  std::vector<std::int64_t> const labels{0, 2};
  auto const refusal = [&](int k, Shape const& shape, Truth truth) {
    auto state = Accuracy{.k = k}.start();
    return test::message_of<ContractError>([&] { state.update(scores, shape, truth); });
  };
  EXPECT_EQ(refusal(3, {2, 3}, {labels, {}}), "");
  EXPECT_THAT(refusal(1, {3, 2}, {labels, {}}), AllOf(HasSubstr("3 labels"), HasSubstr("not 2")));
  EXPECT_THAT(refusal(1, {2, 4}, {labels, {}}), AllOf(HasSubstr("8 scores"), HasSubstr("not 6")));
  EXPECT_THAT(refusal(4, {2, 3}, {labels, {}}), HasSubstr("accuracy at 4"));
  for (std::int64_t label : {-1, 3}) {
    std::vector<std::int64_t> const wrong{0, label};
    EXPECT_THAT(refusal(1, {2, 3}, {wrong, {}}), HasSubstr("label " + std::to_string(label)));
  }
  EXPECT_THROW(Accuracy{.k = 0}.start(), fleet::ConfigurationError);
}

TEST(Accuracy, IsReducedOnce) {
  test::run_workers(1, [](fleet::Job& job) {
    auto state = Accuracy{}.start();
    state.reduce(job.communicator());
    EXPECT_THROW(state.reduce(job.communicator()), ContractError);
    EXPECT_THROW(state.update({}, {0, 2}, Truth{{}, {}}), ContractError);
  });
}

}  // namespace
