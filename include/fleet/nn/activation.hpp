#pragma once
#include <cstdint>
#include <string>

namespace fleet::nn {

/// max(x, 0), with derivative 0 at 0.
struct ReLU {
  std::string name{};
};

struct Tanh {
  std::string name{};
};

/// 1 / (1 + exp(-x))
struct Sigmoid {
  std::string name{};
};

/// x/2 (1 + erf(x / sqrt 2))
struct GELU {
  std::string name{};
};

/// exp(x) / sum of exp(x) along an axis; negative axes count from the last.
struct Softmax {
  std::int64_t axis = -1;
  std::string name{};
};

}  // namespace fleet::nn
