// expect: DGC.*Momentum
#include <fleet/fleet.hpp>

struct Model {
  auto parameters() { return std::array<fleet::Parameter, 0>{}; }
  float forward_backward(int) { return 0; }
};

void misuse(fleet::Job& job, Model& model) {
  auto trainer = fleet::distribute(job, model, fleet::optim::SGD{}, fleet::Strategy{fleet::DGC{}});
}
