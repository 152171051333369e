#pragma once
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <fleet/metrics/auc.hpp>
#include <fleet/metrics/metric.hpp>

// Metrics of totals that a program counts by itself: every worker gives its own, and gets the value over all workers.
// Where no worker counted anything they throw EmptyMetric.
namespace fleet::metrics {
namespace detail {

inline double mean(std::string_view metric, double sum, std::int64_t count, comm::Communicator& workers) {
  workers.all_reduce(std::span{&sum, 1});
  workers.all_reduce(std::span{&count, 1});
  if (count == 0) throw EmptyMetric(metric);
  return sum / static_cast<double>(count);
}

}  // namespace detail

inline double accuracy(std::int64_t correct, std::int64_t total, comm::Communicator& workers) {
  std::array counts{correct, total};
  workers.all_reduce(std::span<std::int64_t>{counts});
  if (counts[1] == 0) throw EmptyMetric("accuracy");
  return static_cast<double>(counts[0]) / static_cast<double>(counts[1]);
}

inline double mean_absolute_error(double sum_of_absolute, std::int64_t total, comm::Communicator& workers) {
  return detail::mean("mean absolute error", sum_of_absolute, total, workers);
}

inline double mean_squared_error(double sum_of_squares, std::int64_t total, comm::Communicator& workers) {
  return detail::mean("mean squared error", sum_of_squares, total, workers);
}

inline double root_mean_squared_error(double sum_of_squares, std::int64_t total, comm::Communicator& workers) {
  return std::sqrt(detail::mean("root mean squared error", sum_of_squares, total, workers));
}

/// From histograms as `area_under_curve` takes them, of equal size on all workers; 0.5 also where all are empty.
inline double auc(std::span<std::int64_t const> positives, std::span<std::int64_t const> negatives,
                  comm::Communicator& workers) {
  std::vector<std::int64_t> all_positives(positives.begin(), positives.end()),
      all_negatives(negatives.begin(), negatives.end());
  workers.all_reduce(std::span{all_positives});
  workers.all_reduce(std::span{all_negatives});
  return area_under_curve(all_positives, all_negatives);
}

}  // namespace fleet::metrics
