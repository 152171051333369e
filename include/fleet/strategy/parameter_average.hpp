#pragma once
#include <span>
#include <vector>

#include <fleet/core/vectorize.hpp>
#include <fleet/strategy/span_sum.hpp>
#include <fleet/tensor/parameter.hpp>

namespace fleet {

/// Parameters become their mean over the workers, on every worker to the same bit. Frozen ones and those that belong
/// to one worker alone stay as they are.
class ParameterAverage {
 public:
  void operator()(std::span<Parameter const> parameters, comm::Communicator& workers) {
    if (workers.size() == 1) return;
    arrays_.clear();
    for (auto const& parameter : parameters)
      if (parameter.trainable && !parameter.distributed) arrays_.push_back(parameter.value);
    sum_(arrays_, workers);
    auto const count = static_cast<float>(workers.size());
    for (auto array : arrays_)
      for_each_vector(
          array.size(), [count](auto& p) { p = p / count; }, array.data());
  }

 private:
  SpanSum sum_;
  std::vector<std::span<float>> arrays_;
};

}  // namespace fleet
