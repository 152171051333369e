#pragma once
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>

#include <fleet/metrics/metric.hpp>

namespace fleet::metrics {
namespace detail {

enum class Deviation : unsigned char { absolute, squared, root_squared };

/// Sums the deviations of outputs from targets of the same shape, in double.
template <Deviation kind>
class DeviationState {
 public:
  void update(std::span<float const> outputs, Shape const& shape, Truth truth) {
    once_.before_update(name);
    check_count(name, "outputs", outputs.size(), shape, shape.count());
    check_count(name, "targets", truth.targets.size(), shape, shape.count());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      double const difference = static_cast<double>(outputs[i]) - static_cast<double>(truth.targets[i]);
      sums_[0] += kind == Deviation::absolute ? std::abs(difference) : difference * difference;
    }
    sums_[1] += static_cast<double>(outputs.size());
  }
  void reduce(comm::Communicator& workers) {
    once_.before_reduce(name);
    workers.all_reduce(std::span<double>{sums_});
  }
  /// Throws EmptyMetric.
  double value() const {
    if (sums_[1] == 0) throw EmptyMetric(name);
    double const mean = sums_[0] / sums_[1];
    return kind == Deviation::root_squared ? std::sqrt(mean) : mean;
  }

 private:
  static constexpr std::string_view name = kind == Deviation::absolute  ? "mean absolute error"
                                           : kind == Deviation::squared ? "mean squared error"
                                                                        : "root mean squared error";
  std::array<double, 2> sums_{};  // of deviations, and the number of elements
  Once once_;
};

}  // namespace detail

/// Mean of |output - target| over all elements. Outputs and targets of one shape.
struct MeanAbsoluteError {
  using State = detail::DeviationState<detail::Deviation::absolute>;
  State start() const { return {}; }
};

/// Mean of (output - target)^2 over all elements. Outputs and targets of one shape.
struct MeanSquaredError {
  using State = detail::DeviationState<detail::Deviation::squared>;
  State start() const { return {}; }
};

/// Square root of the mean of (output - target)^2 over all elements. Outputs and targets of one shape.
struct RootMeanSquaredError {
  using State = detail::DeviationState<detail::Deviation::root_squared>;
  State start() const { return {}; }
};

}  // namespace fleet::metrics
