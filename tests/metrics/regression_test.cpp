#include <fleet/metrics/regression.hpp>

#include <vector>

#include <gmock/gmock.h>

#include "support/golden.hpp"
#include "support/workers.hpp"

namespace {

using fleet::metrics::MeanAbsoluteError;
using fleet::metrics::MeanSquaredError;
using fleet::metrics::RootMeanSquaredError;
using fleet::metrics::Truth;

static_assert(fleet::metrics::Metric<MeanAbsoluteError>);

template <class Metric>
void check(test::Json const& right, test::Json const& value, test::Tolerance tolerance) {
  auto const& shards = right.at("shards");
  auto const values = test::collect(static_cast<int>(shards.size()), [&](fleet::Job& job) {
    auto const& shard = shards.at(static_cast<std::size_t>(job.worker_index()));
    auto const predictions = test::floats(shard.at("predictions")), targets = test::floats(shard.at("targets"));
    fleet::Shape const shape{static_cast<std::int64_t>(predictions.size()), 1};
    return fleet::metrics::measure(Metric{}, job.communicator(), predictions, shape, Truth{{}, targets});
  });
  for (auto each : values) {
    test::expect_close(std::vector{each}, test::Json::array({value}), tolerance, right.at("name"));
    EXPECT_EQ(each, values[0]);
  }
}

TEST(Regression, IsWhatTheGoldenFileSaysForOneWorkerAShard) {
  auto const file = test::golden("metrics.json");
  test::Tolerance const tolerance{file};
  for (auto const& right : file.at("regression")) {
    check<MeanAbsoluteError>(right, right.at("mae"), tolerance);
    check<MeanSquaredError>(right, right.at("mse"), tolerance);
    check<RootMeanSquaredError>(right, right.at("rmse"), tolerance);
  }
}

TEST(Regression, SumsInDouble) {
  auto state = MeanAbsoluteError{}.start();
  std::vector<float> const large{1e8f}, small(1000, 1.0f), zero(1000);
  state.update(large, {1}, Truth{{}, std::span{zero}.first(1)});
  state.update(small, {1000}, Truth{{}, zero});
  EXPECT_EQ(state.value(), (1e8 + 1000) / 1001);
}

TEST(Regression, RefusesTargetsOfAnotherSize) {
  auto state = MeanSquaredError{}.start();
  std::vector<float> const outputs(4), targets(2);
  EXPECT_THROW(state.update(outputs, {2, 2}, Truth{{}, targets}), fleet::ContractError);
  EXPECT_THROW(state.update(outputs, {2, 1}, Truth{{}, targets}), fleet::ContractError);
}

}  // namespace
