#pragma once
#include <array>

#include <fleet/optim/sgd.hpp>
#include <fleet/train/distribute.hpp>

struct Model {
  float value = 0, gradient = 0;
  auto parameters() { return std::array{fleet::Parameter{"w", {&value, 1}, {&gradient, 1}}}; }
  float forward_backward(float batch) { return gradient = batch; }
};
