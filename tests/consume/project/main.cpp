// Fits y = 2 x; with the networks it also describes one.
#include <array>
#include <cmath>
#include <cstdio>

#include <fleet/fleet.hpp>

struct Slope {
  std::array<float, 1> value{0}, gradient{0};

  auto parameters() { return std::array{fleet::Parameter{"slope", value, gradient}}; }
  float forward_backward(float x) {
    float const error = (value[0] - 2) * x;
    gradient[0] = error * x;
    return error * error / 2;
  }
};

int main(int argc, char** argv) {
  auto job = fleet::init(argc, argv);
  Slope model;
  auto trainer = fleet::distribute(job, model, fleet::optim::SGD{.learning_rate = 0.5f}, fleet::Strategy{});
  for (int step = 0; step < 40; ++step) trainer.step(1.0f);
#ifdef FLEET_HAS_ONEDNN
  fleet::nn::Sequential network{fleet::nn::Linear{4, 2}, fleet::nn::Tanh{}};
  (void)network;
#endif
  std::printf("fleet %s: slope %.4f\n", FLEET_VERSION, static_cast<double>(model.value[0]));
  return std::abs(model.value[0] - 2) < 1e-4f ? 0 : 1;
}
