// Trains a small convolutional network on handwritten digits, on every worker that the launcher started.
//   fleetrun --nproc_per_node=2 ./digits data/digits
#include <cstdio>
#include <fleet/fleet.hpp>

namespace nn = fleet::nn;

int main(int argc, char** argv) try {
  auto job = fleet::init(argc, argv);  // who am I of how many, from the environment; alone: worker 0 of 1

  auto digits = fleet::data::load_mnist(argc > 1 ? argv[1] : "data/digits");
  fleet::data::DataLoader train{digits.train, job, {.batch_size = 100, .shuffle = true}};
  fleet::data::DataLoader test{digits.test, job, {.batch_size = 100}};

  nn::Sequential network{nn::Conv2d{1, 20, 5, {.padding = 2}},
                         nn::ReLU{},
                         nn::MaxPool2d{2},
                         nn::Conv2d{20, 20, 5, {.padding = 2}},
                         nn::ReLU{},
                         nn::MaxPool2d{2},
                         nn::Flatten{},
                         nn::Linear{980, 10}};

  auto trainer = fleet::distribute(job, network, nn::SoftmaxCrossEntropy{},
                                   fleet::optim::Momentum{.learning_rate = 0.01f, .momentum = 0.9f});
  job.print_on_rank(trainer.report());
  trainer.fit(train, {.epochs = 5});

  auto accuracy = trainer.evaluate(test, fleet::metrics::Accuracy{});  // over all workers, each sample once
  if (job.is_first_worker()) std::printf("accuracy %.4f\n", accuracy);
  return accuracy > 0.97 ? 0 : 1;
} catch (fleet::Error const& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
