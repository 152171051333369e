// The step of a trainer without policies, where no policy is even included.
#include "step.hpp"

[[gnu::flatten]] float one_step(fleet::TrainingStep<Model&, fleet::optim::SGD, fleet::Strategy<>>& trainer) {
  return trainer.step(1.0f).loss;
}
