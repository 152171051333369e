#pragma once
#include <string>

namespace fleet::nn {

/// [batch, a, b, ...] -> [batch, a b ...], row-major.
struct Flatten {
  std::string name{};
};

}  // namespace fleet::nn
