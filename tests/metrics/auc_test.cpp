#include <fleet/metrics/auc.hpp>

#include <limits>
#include <vector>

#include <gmock/gmock.h>

#include "support/files.hpp"
#include "support/golden.hpp"
#include "support/workers.hpp"

namespace {

using fleet::ContractError;
using fleet::metrics::AUC;
using fleet::metrics::Truth;
using testing::HasSubstr;

static_assert(fleet::metrics::Metric<AUC>);

double area(AUC const& settings, std::vector<float> const& scores, std::vector<float> const& targets) {
  auto state = settings.start();
  state.update(scores, {static_cast<std::int64_t>(scores.size()), 1}, Truth{{}, targets});
  return state.value();
}

TEST(Auc, IsWhatTheGoldenFileSaysForOneWorkerAShard) {
  auto const file = test::golden("metrics.json");
  test::Tolerance const tolerance{file};
  for (auto const& right : file.at("auc")) {
    auto const& shards = right.at("shards");
    int const thresholds = right.at("num_thresholds").get<int>();
    for (bool exact : {true, false}) {
      auto const values = test::collect(static_cast<int>(shards.size()), [&](fleet::Job& job) {
        auto const& shard = shards.at(static_cast<std::size_t>(job.worker_index()));
        auto const scores = test::floats(shard.at("scores"));
        auto const labels = shard.at("labels").get<std::vector<std::int64_t>>();
        auto state = AUC{.num_thresholds = exact ? 0 : thresholds}.start();
        state.update(scores, {static_cast<std::int64_t>(scores.size())}, Truth{labels, {}});
        state.reduce(job.communicator());
        if (!exact) {
          auto buckets = test::Json::array();
          for (std::size_t i = 0; i < state.buckets(true).size(); ++i)
            if (state.buckets(true)[i] + state.buckets(false)[i] > 0)
              buckets.push_back({i, state.buckets(true)[i], state.buckets(false)[i]});
          EXPECT_EQ(buckets, right.at("buckets")) << right.at("name");
        }
        return state.value();
      });
      for (auto value : values)
        test::expect_close(std::vector{value}, test::Json::array({right.at(exact ? "exact" : "bucketed")}), tolerance,
                           right.at("name"));
    }
  }
}

TEST(Auc, CountsEqualScoresOneHalf) {
  EXPECT_EQ(area({}, {1, 1}, {0, 1}), 0.5);
  EXPECT_EQ(area({}, {0.0f, -0.0f, 2}, {0, 1, 1}), 0.75);
  EXPECT_EQ(area({}, {1, 2, 3}, {1, 0, 0}), 0);
}

TEST(Auc, TakesLogits) {
  std::vector<float> const logits{-3, 2, -1, 5, 0.5f, -20, std::numeric_limits<float>::infinity()},
      targets{0, 1, 1, 1, 0, 0, 1};
  double const exact = area({}, logits, targets);
  EXPECT_EQ(exact, 11.0 / 12);
  EXPECT_EQ(area({.num_thresholds = 4095, .logits = true}, logits, targets), exact);
}

TEST(Auc, IsOneHalfForOneClass) {
  for (int thresholds : {0, 10})
    for (float target : {0.0f, 1.0f})
      EXPECT_EQ(area({.num_thresholds = thresholds}, {0.1f, 0.9f}, {target, target}), 0.5);
}

TEST(Auc, RefusesScoresThatHaveNoPlaceOnAllWorkersAlike) {
  float const nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(test::message_of<ContractError>([&] { area({}, {nan, 1, 2}, {0, 1, 0}); }), HasSubstr("1 of 3 scores"));
  EXPECT_THAT(test::message_of<ContractError>([] {
                area({.num_thresholds = 10}, {-0.1f, 1.1f}, {0, 1});
              }),
              testing::AllOf(HasSubstr("2 of 2 scores"), HasSubstr(".logits")));
  auto const messages = test::collect(2, [&](fleet::Job& job) {
    std::vector<float> const scores{job.is_first_worker() ? nan : 1.0f}, targets{1};
    return test::message_of<ContractError>([&] {
      fleet::metrics::measure(AUC{}, job.communicator(), scores, {1}, Truth{{}, targets});
    });
  });
  EXPECT_THAT(messages, testing::Each(HasSubstr("1 of 2 scores")));
}

TEST(Auc, RefusesWhatDoesNotFit) {
  EXPECT_THAT(test::message_of<ContractError>([] { area({}, {1, 2}, {0, 0.5f}); }), HasSubstr("label 0.5"));
  EXPECT_THROW(area({}, {1, 2}, {0}), ContractError);
  auto state = AUC{}.start();
  std::vector<float> const scores(4);
  std::vector<std::int64_t> const labels{0, 1};
  EXPECT_THROW(state.update(scores, {2, 2}, Truth{labels, {}}), ContractError);
  EXPECT_THROW(AUC{.num_thresholds = -1}.start(), fleet::ConfigurationError);
}

}  // namespace
