// compiles
#include <array>
#include <fleet/fleet.hpp>

struct Model {
  auto parameters() { return std::array<fleet::Parameter, 0>{}; }
  float forward_backward(int) { return 0; }
};

void use(fleet::Job& job, Model& model) {
  auto trainer = fleet::distribute(
      job, model, fleet::optim::SGD{.learning_rate = 0.1f},
      fleet::Strategy{fleet::GradientMerge<2>{}, fleet::ClipGradientNorm{1.0f}, fleet::FuseAllReduce{}});
  trainer.step(1);
}
