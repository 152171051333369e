#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <fleet/core/error.hpp>
#include <fleet/train/progress.hpp>
#include <fleet/train/saving.hpp>
#include <fleet/train/step_result.hpp>

namespace fleet {

struct FitOptions {
  std::int64_t epochs = 1;             ///< at least 0
  ProgressSettings progress{};         ///< what the first worker prints
  std::filesystem::path checkpoint{};  ///< where to save, and to resume from if a set is there; empty: neither
  std::int64_t checkpoint_steps = 0;   ///< save every so many steps too; 0: at the end of each epoch only
};

struct FitResult {
  double loss = 0;           ///< mean over the last epoch's batches of all workers
  std::int64_t steps = 0;    ///< forward passes of each worker in this call
  std::int64_t updates = 0;  ///< applied in this call
  std::int64_t skipped = 0;  ///< updates left out, as by a gradient that is not finite
};

namespace detail {

/// How far a call of `fit` is; part of its checkpoints.
struct FitPosition {
  std::int64_t epoch = 0;
  double loss_sum = 0;
  std::int64_t batches = 0;

  template <class Archive>
  void archive(Archive& archive) {
    archive("epoch", epoch);
    archive("loss_sum", loss_sum);
    archive("batches", batches);
  }
};

}  // namespace detail

/// Trains on `options.epochs` epochs of this worker's share of a loader. Every worker calls it alike; only the first
/// one prints. With a checkpoint a run that was ended goes on where it was, bit for bit, in the middle of an epoch too.
template <class Trainer, class Loader>
FitResult fit(Trainer& trainer, Loader& loader, FitOptions const& options) {
  if (options.epochs < 0 || options.checkpoint_steps < 0)
    throw ConfigurationError(text("fleet: FitOptions::epochs is ", options.epochs, " and ::checkpoint_steps is ",
                                  options.checkpoint_steps, "; give at least 0"));
  FitResult result;
  detail::FitPosition position;
  bool const saves = !options.checkpoint.empty();
  if (saves && trainer.has_saved(options.checkpoint)) trainer.load(options.checkpoint, loader, position);

  std::optional<Progress> progress;
  if (trainer.job().is_first_worker()) progress.emplace(options.progress, options.epochs);
  auto const workers = static_cast<std::size_t>(trainer.job().worker_num());
  auto const count = [&](StepResult const& step) {
    result.updates += step.applied;
    result.skipped += !step.skipped.empty();
  };

  for (; position.epoch < options.epochs; ++position.epoch) {
    if (progress) progress->begin_epoch(position.epoch, static_cast<std::int64_t>(loader.batches()), position.batches);
    for (auto const& batch : loader) {
      StepResult const step = trainer.step(batch);
      count(step);
      ++result.steps;
      position.loss_sum += step.loss;
      ++position.batches;
      if (progress) progress->step(step.loss, batch.size() * workers);
      if (saves && options.checkpoint_steps > 0 && trainer.micro_steps() % options.checkpoint_steps == 0)
        trainer.save(options.checkpoint, loader, position);
    }
    auto const batches = trainer.job().all_reduce(position.batches);
    result.loss = batches ? trainer.job().all_reduce(position.loss_sum) / static_cast<double>(batches) : 0;
    position.loss_sum = 0;
    position.batches = 0;
    if (position.epoch + 1 == options.epochs) count(trainer.flush());
    if (progress) progress->end_epoch();
    if (saves) {
      ++position.epoch;
      trainer.save(options.checkpoint, loader, position);
      --position.epoch;
    }
  }
  return result;
}

}  // namespace fleet
