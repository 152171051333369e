// expect: AdaptiveLocalSGD.*SGD or optim::Momentum
#include <fleet/fleet.hpp>

struct Model {
  auto parameters() { return std::array<fleet::Parameter, 0>{}; }
  float forward_backward(int) { return 0; }
};

void misuse(fleet::Job& job, Model& model) {
  auto trainer = fleet::distribute(job, model, fleet::optim::Adam{}, fleet::Strategy{fleet::AdaptiveLocalSGD{}});
}
