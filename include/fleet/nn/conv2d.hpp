#pragma once
#include <cstdint>
#include <string>

#include <fleet/nn/pair.hpp>

namespace fleet::nn {

struct Conv2dOptions {
  Pair stride = 1;
  Pair padding = 0;  ///< rows of zeros above and below, columns left and right
  Pair dilation = 1;
  std::int64_t groups = 1;  ///< divides both numbers of channels
  bool bias = true;
  std::string name{};  ///< empty: the place in the network
};

/// A two-dimensional convolution: [batch, in_channels, H, W] -> [batch, out_channels, H', W'] with
/// H' = floor((H + 2 padding - dilation (kernel - 1) - 1) / stride) + 1. Parameters: weight [out_channels,
/// in_channels / groups, kernel height, kernel width] (Kaiming uniform at first) and bias [out_channels] (zeros).
///   nn::Conv2d{1, 20, 5, {.padding = 2}}
struct Conv2d {
  std::int64_t in_channels;
  std::int64_t out_channels;
  Pair kernel;
  Conv2dOptions options{};
};

}  // namespace fleet::nn
