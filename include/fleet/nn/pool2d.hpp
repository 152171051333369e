#pragma once
#include <string>

#include <fleet/nn/pair.hpp>

namespace fleet::nn {

struct Pool2dOptions {
  Pair stride = 0;  ///< 0: as large as the kernel
  Pair padding = 0;
  bool ceil_mode = false;  ///< also windows that reach beyond the padded image; one that would start there is dropped
  std::string name{};      ///< empty: the place in the network
};

/// The greatest element of each window, of equal ones the first: [batch, C, H, W] -> [batch, C, H', W'] with
/// H' = floor or ceil((H + 2 padding - kernel) / stride) + 1. Padding never wins.
///   nn::MaxPool2d{2}
struct MaxPool2d {
  Pair kernel;
  Pool2dOptions options{};
};

struct AvgPool2dOptions {
  Pair stride = 0;  ///< 0: as large as the kernel
  Pair padding = 0;
  bool ceil_mode = false;
  bool exclusive = true;  ///< divides by the number of real elements in a window; false: by the size of the kernel
  std::string name{};     ///< empty: the place in the network
};

/// The mean of each window; shapes as those of MaxPool2d.
struct AvgPool2d {
  Pair kernel;
  AvgPool2dOptions options{};
};

}  // namespace fleet::nn
