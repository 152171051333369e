#pragma once
#include <cmath>

#include <fleet/core/error.hpp>
#include <fleet/strategy/bucket_plan.hpp>

namespace fleet {

/// How gradients are joined into messages. Without the policy its defaults hold; fusion never changes a result.
/// A message starts as soon as its last gradient is final, while the backward pass goes on.
struct FuseAllReduce {
  double megabytes = 32;  ///< of 2^20 bytes, most of one message; 0: no fusion, each gradient by itself
  int layers = 20;        ///< most layers in one message, at least 1

  static constexpr bool settings_only = true;

  void validate() const {
    if (!(megabytes >= 0) || std::isinf(megabytes))
      throw ConfigurationError(text("fleet: FuseAllReduce.megabytes is ", megabytes,
                                    "; give 0 (no fusion) or a positive number of 2^20 bytes"));
    if (layers < 1) throw ConfigurationError(text("fleet: FuseAllReduce.layers is ", layers, "; give at least 1"));
  }

  BucketLimits limits() const { return {static_cast<std::uint64_t>(std::fmin(megabytes * 0x1p20, 0x1p62)), layers}; }
};

}  // namespace fleet
