// expect: forward_backward\(batch\)
#include <array>
#include <fleet/fleet.hpp>
#include <string>

struct Model {
  auto parameters() { return std::array<fleet::Parameter, 0>{}; }
  float forward_backward(int) { return 0; }
};

void misuse(fleet::Job& job, Model& model) {
  auto trainer = fleet::distribute(job, model, fleet::optim::SGD{});
  trainer.step(std::string{"a batch"});
}
