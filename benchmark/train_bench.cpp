// Training throughput on random data that lies in memory: forward, backward and optimizer.
//   train_bench --model mlp|cnn [--batch N] [--threads N] [--seconds S]       --threads names what OMP_NUM_THREADS is
//   fleetrun --nproc_per_node=2 train_bench --model cnn                       the value is the sum over the workers
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fleet/core/random.hpp>
#include <fleet/data/batch.hpp>
#include <fleet/job/init.hpp>
#include <fleet/nn/onednn/executor.hpp>
#include <fleet/optim/adam.hpp>
#include <fleet/optim/sgd.hpp>
#include <fleet/train/distribute.hpp>

#include "support/result.hpp"

namespace nn = fleet::nn;

namespace {

struct Settings {
  std::string model = "mlp";
  std::int64_t batch = 0;  // 0: the model's own
  int threads = 1;
  double seconds = 3;
};

std::vector<fleet::data::Batch> random_batches(std::size_t count, fleet::Shape const& shape) {
  std::vector<fleet::data::Batch> batches(count);
  fleet::Random random{7};
  for (auto& batch : batches) {
    batch.inputs.reshape(shape), batch.labels.reshape({shape[0]});
    for (float& value : batch.inputs.span()) value = random.uniform();
    for (auto& label : batch.labels.span()) label = static_cast<std::int64_t>(random.below(10));
  }
  return batches;
}

template <class Network, class Optimizer>
int run(fleet::Job& job, Settings const& settings, Network const& network, Optimizer const& optimizer,
        fleet::Shape const& shape) {
  auto trainer = fleet::distribute(job, network, nn::SoftmaxCrossEntropy{}, optimizer);
  auto const batches = random_batches(20, shape);
  std::size_t next = 0;
  float loss = 0;
  auto const steps = [&](int count) {
    job.barrier();
    auto const start = bench::seconds_now();
    for (int i = 0; i < count; ++i) loss = trainer.step(batches[next++ % batches.size()]).loss;
    job.barrier();
    return (bench::seconds_now() - start) / count;
  };
  steps(2);
  double const one =
      job.all_reduce(steps(3), fleet::comm::ReduceOp::max);  // every worker runs the same number of steps
  int const each = std::clamp(static_cast<int>(0.25 / one), 1, 500);
  int const blocks = std::max(3, static_cast<int>(settings.seconds / (each * one)));
  std::vector<double> times;
  for (int block = 0; block < blocks; ++block) times.push_back(steps(each));
  if (!std::isfinite(loss)) {
    std::fprintf(stderr, "train_bench: the loss is not finite\n");
    return 1;
  }
  std::nth_element(times.begin(), times.begin() + blocks / 2, times.end());
  double const step = times[static_cast<std::size_t>(blocks / 2)];
  auto const how = job.worker_num() > 1 ? fleet::text("ddp", job.worker_num()) : fleet::text("t", settings.threads);
  if (job.is_first_worker())
    bench::print_result(fleet::text("train/", settings.model, "/b", shape[0], "/fp32/", how),
                        static_cast<double>(shape[0]) * job.worker_num() / step, "examples/s", "high",
                        fleet::text("step_ms=", step * 1e3, " blocks=", blocks, " per_block=", each));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i + 1 < argc; i += 2) {
    std::string const name = argv[i], value = argv[i + 1];
    if (name == "--model")
      settings.model = value;
    else if (name == "--batch")
      settings.batch = std::stoll(value);
    else if (name == "--threads")
      settings.threads = std::stoi(value);
    else if (name == "--seconds")
      settings.seconds = std::stod(value);
    else if (name != "--np")
      settings.model.clear();
  }
  if (argc % 2 == 0 || (settings.model != "mlp" && settings.model != "cnn")) {
    std::fputs("train: --model mlp|cnn [--batch N] [--threads N] [--seconds S]\n", stderr);
    return 2;
  }

  auto job = fleet::init(argc, argv);
  if (settings.model == "mlp") {
    nn::Sequential network{nn::Linear{784, 128}, nn::Tanh{}, nn::Linear{128, 128}, nn::Tanh{}, nn::Linear{128, 10}};
    return run(job, settings, network, fleet::optim::Adam{.learning_rate = 1e-3f},
               {settings.batch ? settings.batch : 64, 784});
  }
  nn::Sequential network{nn::Conv2d{1, 20, 5, {.padding = 2}},
                         nn::ReLU{},
                         nn::MaxPool2d{2},
                         nn::Conv2d{20, 20, 5, {.padding = 2}},
                         nn::ReLU{},
                         nn::MaxPool2d{2},
                         nn::Flatten{},
                         nn::Linear{980, 10}};
  return run(job, settings, network, fleet::optim::SGD{.learning_rate = 0.01f},
             {settings.batch ? settings.batch : 100, 1, 28, 28});
}
