#include <fleet/metrics/extremes.hpp>

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "support/workers.hpp"

namespace {

using fleet::metrics::Max;
using fleet::metrics::Min;
using fleet::metrics::Sum;
using fleet::metrics::Truth;

static_assert(fleet::metrics::Metric<Sum> && fleet::metrics::Metric<Max> && fleet::metrics::Metric<Min>);

template <class Metric>
double over(std::vector<std::vector<float>> const& shards) {
  auto const values = test::collect(static_cast<int>(shards.size()), [&](fleet::Job& job) {
    auto const& outputs = shards[static_cast<std::size_t>(job.worker_index())];
    fleet::Shape const shape{static_cast<std::int64_t>(outputs.size())};
    return fleet::metrics::measure(Metric{}, job.communicator(), outputs, shape, Truth{{}, {}});
  });
  for (auto value : values) EXPECT_TRUE(value == values[0] || (std::isnan(value) && std::isnan(values[0])));
  return values[0];
}

TEST(Extremes, AreOverTheOutputsOfAllWorkers) {
  std::vector<std::vector<float>> const shards{{1, -2.5f}, {}, {7, 3, -1}};
  EXPECT_EQ(over<Sum>(shards), 7.5);
  EXPECT_EQ(over<Max>(shards), 7);
  EXPECT_EQ(over<Min>(shards), -2.5);
  EXPECT_EQ(over<Max>({{-3}, {-2}}), -2);
}

TEST(Extremes, AreNoNumberIfAnOutputIsNone) {
  std::vector<std::vector<float>> const shards{{1, 2}, {std::numeric_limits<float>::quiet_NaN(), 5}};
  EXPECT_TRUE(std::isnan(over<Sum>(shards)));
  EXPECT_TRUE(std::isnan(over<Max>(shards)));
  EXPECT_TRUE(std::isnan(over<Min>(shards)));
}

TEST(Extremes, OfNothingAreAnErrorButItsSumIsZero) {
  std::vector<std::vector<float>> const shards{{}, {}};
  EXPECT_EQ(over<Sum>(shards), 0);
  EXPECT_THROW(over<Max>(shards), fleet::metrics::EmptyMetric);
  EXPECT_THROW(over<Min>(shards), fleet::metrics::EmptyMetric);
}

}  // namespace
