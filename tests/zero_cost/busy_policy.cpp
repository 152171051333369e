// The same step under a policy that does something: the comparison must see it.
#include <fleet/strategy/clip_gradient_norm.hpp>

#include "step.hpp"

[[gnu::flatten]] float one_step(
    fleet::TrainingStep<Model&, fleet::optim::SGD, fleet::Strategy<fleet::ClipGradientNorm>>& trainer) {
  return trainer.step(1.0f).loss;
}
