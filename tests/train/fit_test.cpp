// fit, evaluate, save and load with a compiled network: a run that was ended goes on bit for bit.
#include <fleet/train/fit.hpp>

#include <filesystem>
#include <vector>

#include <gtest/gtest.h>

#include <fleet/core/random.hpp>
#include <fleet/data/data_loader.hpp>
#include <fleet/data/tensor_dataset.hpp>
#include <fleet/metrics/accuracy.hpp>
#include <fleet/nn/activation.hpp>
#include <fleet/nn/dropout.hpp>
#include <fleet/nn/linear.hpp>
#include <fleet/nn/onednn/executor.hpp>
#include <fleet/nn/sequential.hpp>
#include <fleet/optim/adam.hpp>
#include <fleet/strategy/gradient_merge.hpp>
#include <fleet/train/distribute.hpp>

#include "support/files.hpp"
#include "support/workers.hpp"

namespace {

namespace nn = fleet::nn;

/// 70 points of 6 numbers; the label tells which of the first three is greatest.
fleet::data::TensorDataset points() {
  fleet::Tensor<float> inputs{{70, 6}};
  fleet::Tensor<std::int64_t> labels{{70}};
  fleet::Random random{4};
  for (std::size_t i = 0; i < 70; ++i) {
    for (std::size_t j = 0; j < 6; ++j) inputs[i * 6 + j] = random.normal();
    auto const* row = inputs.data() + i * 6;
    labels[i] = std::max_element(row, row + 3) - row;
  }
  return fleet::data::TensorDataset{{.inputs = std::move(inputs), .labels = std::move(labels)}};
}

auto make_trainer(fleet::Job& job, std::int64_t width = 16) {
  return fleet::distribute(job,
                           nn::Sequential{nn::Linear{6, width}, nn::Tanh{}, nn::Dropout{0.1f}, nn::Linear{width, 3}},
                           nn::SoftmaxCrossEntropy{}, fleet::optim::Adam{.learning_rate = 0.02f},
                           fleet::Strategy{fleet::GradientMerge<2>{}});
}

fleet::data::DataLoader<fleet::data::TensorDataset> make_loader(fleet::data::TensorDataset const& dataset,
                                                                fleet::Job& job) {
  return {dataset, job, {.batch_size = 8, .shuffle = true}};
}

template <class Trainer>
std::vector<float> bytes_of(Trainer& trainer) {
  std::vector<float> all;
  for (auto const& parameter : trainer.parameters())
    all.insert(all.end(), parameter.value.begin(), parameter.value.end());
  return all;
}

fleet::FitOptions quiet(std::int64_t epochs, std::filesystem::path checkpoint = {}) {
  fleet::FitOptions options{.epochs = epochs, .checkpoint = std::move(checkpoint), .checkpoint_steps = 3};
  options.progress.style = fleet::ProgressStyle::none;
  return options;
}

TEST(Fit, LearnsAndEvaluatesOverAllWorkers) {
  auto const dataset = points();
  for (int workers : {1, 2, 3})
    test::run_workers(workers, [&](fleet::Job& job) {
      auto trainer = make_trainer(job);
      auto loader = make_loader(dataset, job);
      auto const before = trainer.evaluate(loader, fleet::metrics::Accuracy{});
      auto const result = trainer.fit(loader, quiet(60));
      EXPECT_EQ(result.steps, static_cast<std::int64_t>(60 * loader.batches()));
      EXPECT_EQ(result.skipped, 0);
      auto const after = trainer.evaluate(loader, fleet::metrics::Accuracy{});
      EXPECT_GT(after, 0.9);
      EXPECT_GT(after, before);
    });
}

TEST(Fit, GoesOnBitForBitInTheMiddleOfAnEpoch) {
  auto const dataset = points();
  for (int workers : {1, 2}) {
    test::TemporaryFolder const folder;
    auto const path = folder.path("run");
    auto const undisturbed = test::collect(workers, [&](fleet::Job& job) {
      auto trainer = make_trainer(job);
      auto loader = make_loader(dataset, job);
      trainer.fit(loader, quiet(3));
      return bytes_of(trainer);
    });
    test::run_workers(workers, [&](fleet::Job& job) {  // ends in the second epoch, within a merge window
      auto trainer = make_trainer(job);
      auto loader = make_loader(dataset, job);
      auto const stop = static_cast<std::int64_t>(loader.batches()) + 3;
      fleet::detail::FitPosition position;
      for (; trainer.micro_steps() < stop; ++position.epoch, position.batches = 0)
        for (auto const& batch : loader) {
          trainer.step(batch);
          ++position.batches;
          if (trainer.micro_steps() == stop) {
            trainer.save(path, loader, position);
            return;
          }
        }
    });
    auto const resumed = test::collect(workers, [&](fleet::Job& job) {
      auto trainer = make_trainer(job);
      auto loader = make_loader(dataset, job);
      trainer.fit(loader, quiet(3, path));
      return bytes_of(trainer);
    });
    EXPECT_EQ(resumed, undisturbed) << workers;
  }
}

TEST(Fit, RefusesTheCheckpointOfAnotherModelOnEveryWorkerAndChangesNothing) {
  auto const dataset = points();
  test::TemporaryFolder const folder;
  auto const path = folder.path("run");
  test::run_workers(2, [&](fleet::Job& job) { make_trainer(job).save(path); });
  test::run_workers(2, [&](fleet::Job& job) {
    auto trainer = make_trainer(job, 17);
    auto const before = bytes_of(trainer);
    EXPECT_THROW(trainer.load(path), fleet::CheckpointError);
    EXPECT_EQ(bytes_of(trainer), before);
  });
  test::run_workers(3, [&](fleet::Job& job) {  // parameters alone go to any number of workers
    auto trainer = make_trainer(job);
    EXPECT_TRUE(trainer.has_saved(path));
    trainer.load_parameters(path);
    EXPECT_FALSE(trainer.has_saved(folder.path("nothing")));
  });
}

TEST(Fit, RefusesOptionsOutOfRange) {
  auto const dataset = points();
  test::run_workers(1, [&](fleet::Job& job) {
    auto trainer = make_trainer(job);
    auto loader = make_loader(dataset, job);
    EXPECT_THROW(trainer.fit(loader, quiet(-1)), fleet::ConfigurationError);
    EXPECT_EQ(trainer.fit(loader, quiet(0)).steps, 0);
  });
}

TEST(Report, SaysWhatWasComposedAndWhatDoesNotApply) {
  test::run_workers(1, [](fleet::Job& job) {
    test::Replay model{{"w"}, {{0}}};
    struct Own {
      void update(fleet::Parameter const&) {}
    };
    auto trainer = fleet::distribute(job, model, Own{}, fleet::Strategy{fleet::FuseAllReduce{}});
    auto const report = trainer.report();
    EXPECT_NE(report.find("strategy    Strategy<FuseAllReduce>"), std::string::npos) << report;
    EXPECT_NE(report.find("FuseAllReduce does nothing: a single worker"), std::string::npos) << report;
    EXPECT_NE(report.find("Own has no archive()"), std::string::npos) << report;
  });
}

}  // namespace
