// A training loop written by hand: the three parts of a step, checkpoints, resuming in the middle of an epoch.
//   fleetrun --nproc_per_node=2 ./own_loop data/digits checkpoint
#include <cstdio>
#include <filesystem>
#include <fleet/fleet.hpp>

namespace nn = fleet::nn;

int main(int argc, char** argv) {
  auto job = fleet::init(argc, argv);
  auto digits = fleet::data::load_mnist(argc > 1 ? argv[1] : "data/digits");
  std::filesystem::path const checkpoint = argc > 2 ? argv[2] : "checkpoint";
  fleet::data::DataLoader train{digits.train, job, {.batch_size = 50, .shuffle = true}};
  fleet::data::DataLoader test{digits.test, job, {.batch_size = 100}};

  nn::Sequential network{nn::Flatten{}, nn::Linear{784, 128}, nn::Tanh{}, nn::Linear{128, 10}};
  auto trainer =
      fleet::distribute(job, network, nn::SoftmaxCrossEntropy{},
                        fleet::optim::Adam{.learning_rate = fleet::optim::Cosine{.learning_rate = 1e-3, .t_max = 600}},
                        fleet::Strategy{fleet::ClipGradientNorm{5}});

  if (trainer.has_saved(checkpoint)) trainer.load(checkpoint, train);

  while (train.epoch() < 2)
    for (auto const& batch : train) {
      trainer.forward_backward(batch);       // this worker's gradients
      trainer.synchronize();                 // their mean over all workers
      auto const result = trainer.update();  // clipped, applied
      if (trainer.updates() % 25 == 0) {
        trainer.save(checkpoint, train);
        job.print_on_rank(fleet::text("update ", trainer.updates(), ": loss ", result.loss, ", gradient norm ",
                                      result.gradient_norm));
      }
    }

  auto const accuracy = trainer.evaluate(test, fleet::metrics::Accuracy{});
  job.print_on_rank(fleet::text("accuracy ", accuracy));
  return accuracy > 0.9 ? 0 : 1;
}
