#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include <fleet/metrics/metric.hpp>

namespace fleet::metrics {
namespace detail {

/// Folds all outputs, of any shape, into one number.
template <comm::ReduceOp op>
class FoldState {
 public:
  void update(std::span<float const> outputs, Shape const& shape, Truth) {
    once_.before_update(name);
    check_count(name, "outputs", outputs.size(), shape, shape.count());
    counts_[0] += static_cast<std::int64_t>(outputs.size());
    for (double const output : outputs) {
      counts_[1] += std::isnan(output);
      if constexpr (op == comm::ReduceOp::sum) value_ += output;
      if constexpr (op == comm::ReduceOp::max) value_ = std::max(value_, output);
      if constexpr (op == comm::ReduceOp::min) value_ = std::min(value_, output);
    }
  }
  void reduce(comm::Communicator& workers) {
    once_.before_reduce(name);
    workers.all_reduce(std::span<std::int64_t>{counts_});
    workers.all_reduce(std::span{&value_, 1}, op);
  }
  /// Not a number if one of the outputs is none. Throws EmptyMetric, but the sum of nothing is 0.
  double value() const {
    if (counts_[0] == 0 && op != comm::ReduceOp::sum) throw EmptyMetric(name);
    return counts_[1] > 0 ? std::numeric_limits<double>::quiet_NaN() : value_;
  }

 private:
  static constexpr std::string_view name = op == comm::ReduceOp::sum   ? "sum"
                                           : op == comm::ReduceOp::max ? "maximum"
                                                                       : "minimum";
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  double value_ = op == comm::ReduceOp::sum ? 0 : op == comm::ReduceOp::max ? -infinity : infinity;
  std::array<std::int64_t, 2> counts_{};  // outputs, and those that are no numbers
  Once once_;
};

}  // namespace detail

/// Sum of all outputs.
struct Sum {
  using State = detail::FoldState<comm::ReduceOp::sum>;
  State start() const { return {}; }
};

/// Greatest of all outputs.
struct Max {
  using State = detail::FoldState<comm::ReduceOp::max>;
  State start() const { return {}; }
};

/// Smallest of all outputs.
struct Min {
  using State = detail::FoldState<comm::ReduceOp::min>;
  State start() const { return {}; }
};

}  // namespace fleet::metrics
