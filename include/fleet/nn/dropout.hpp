#pragma once
#include <cstdint>
#include <string>

namespace fleet::nn {

enum class DropoutMode : std::uint8_t {
  upscale_in_train,    ///< training: x mask / (1 - p); inference: x
  downscale_in_infer,  ///< training: x mask; inference: x (1 - p)
};

/// Zeroes each element with the given probability while training. The masks follow from (seed, rank, step, place in
/// the network): they differ between ranks and steps, and are the same in a second run.
///   nn::Dropout{0.1f}
struct Dropout {
  float probability = 0.5f;  ///< in [0, 1)
  DropoutMode mode = DropoutMode::upscale_in_train;
  std::string name{};
};

}  // namespace fleet::nn
