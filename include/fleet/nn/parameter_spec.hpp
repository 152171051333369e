#pragma once
#include <cmath>
#include <cstdint>
#include <span>
#include <string>

#include <fleet/core/random.hpp>
#include <fleet/tensor/shape.hpp>

namespace fleet::nn {

/// The first values of a parameter: centre +- width, evenly spread; width 0 gives the centre itself.
struct Initializer {
  float centre = 0;
  float width = 0;

  void fill(std::span<float> values, Random random) const {
    for (float& value : values) value = width > 0 ? centre + width * (2 * random.uniform() - 1) : centre;
  }
};

/// All elements alike.
constexpr Initializer constant(float value) { return {.centre = value}; }
/// Evenly from [-sqrt(6 / fan_in), sqrt(6 / fan_in)]: keeps the scale of a signal before ReLU.
inline Initializer kaiming_uniform(std::int64_t fan_in) {
  return {.width = std::sqrt(6.0f / static_cast<float>(fan_in))};
}
/// Evenly from [-w, w], w = sqrt(6 / (fan_in + fan_out)): keeps the scale of a signal before Tanh.
inline Initializer xavier_uniform(std::int64_t fan_in, std::int64_t fan_out) {
  return {.width = std::sqrt(6.0f / static_cast<float>(fan_in + fan_out))};
}

/// A trained tensor that a layer asks for. Its full name is "<layer>.<name>", such as "conv1.weight" or "0.bias".
struct ParameterSpec {
  std::string name;
  Shape shape;
  Initializer initializer{};
};

}  // namespace fleet::nn
