// The same step, with every policy of the library at hand.
#include <fleet/fleet.hpp>

#include "step.hpp"

[[gnu::flatten]] float one_step(fleet::TrainingStep<Model&, fleet::optim::SGD, fleet::Strategy<>>& trainer) {
  return trainer.step(1.0f).loss;
}
