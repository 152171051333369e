#include <fleet/metrics/totals.hpp>

#include <array>

#include <gtest/gtest.h>

#include "support/workers.hpp"

namespace {

namespace metrics = fleet::metrics;

TEST(Totals, AreDividedOverAllWorkers) {
  test::run_workers(2, [](fleet::Job& job) {
    auto& workers = job.communicator();
    bool const first = job.is_first_worker();
    EXPECT_EQ(metrics::accuracy(first ? 10 : 10, first ? 11 : 10, workers), 20.0 / 21);
    EXPECT_EQ(metrics::mean_absolute_error(first ? 1.5 : 0.5, first ? 3 : 1, workers), 0.5);
    EXPECT_EQ(metrics::mean_squared_error(first ? 8 : 0, first ? 2 : 0, workers), 4);
    EXPECT_EQ(metrics::root_mean_squared_error(first ? 8 : 0, first ? 2 : 0, workers), 2);
    std::array<std::int64_t, 3> const positives{0, first, !first}, negatives{first, !first, 0};
    EXPECT_EQ(metrics::auc(positives, negatives, workers), 0.875);
    std::array<std::int64_t, 3> const none{};
    EXPECT_EQ(metrics::auc(positives, none, workers), 0.5);
  });
}

TEST(Totals, OfNothingAreAnErrorOnAllWorkers) {
  test::run_workers(2, [](fleet::Job& job) {
    auto& workers = job.communicator();
    EXPECT_THROW(metrics::accuracy(0, 0, workers), metrics::EmptyMetric);
    EXPECT_THROW(metrics::mean_absolute_error(0, 0, workers), metrics::EmptyMetric);
    EXPECT_THROW(metrics::mean_squared_error(0, 0, workers), metrics::EmptyMetric);
    EXPECT_THROW(metrics::root_mean_squared_error(0, 0, workers), metrics::EmptyMetric);
    std::array<std::int64_t, 3> const none{};
    EXPECT_EQ(metrics::auc(none, none, workers), 0.5);
  });
}

}  // namespace
