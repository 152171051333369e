// The same step under a policy whose hook does nothing.
#include "step.hpp"

struct Idle {
  void after_update(fleet::Step const&) {}
};

[[gnu::flatten]] float one_step(fleet::TrainingStep<Model&, fleet::optim::SGD, fleet::Strategy<Idle>>& trainer) {
  return trainer.step(1.0f).loss;
}
