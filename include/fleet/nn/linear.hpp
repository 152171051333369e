#pragma once
#include <cstdint>
#include <string>

namespace fleet::nn {

struct LinearOptions {
  bool bias = true;
  std::string name{};  ///< empty: the place in the network
};

/// y = x W^T + b: [..., in_features] -> [..., out_features]. Parameters: weight [out_features, in_features] (Xavier
/// uniform at first) and bias [out_features] (zeros).
///   nn::Linear{784, 10}
struct Linear {
  std::int64_t in_features;
  std::int64_t out_features;
  LinearOptions options{};
};

}  // namespace fleet::nn
