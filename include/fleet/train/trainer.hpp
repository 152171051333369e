#pragma once
#include <filesystem>
#include <string>

#include <fleet/train/fit.hpp>
#include <fleet/train/report.hpp>
#include <fleet/train/saving.hpp>
#include <fleet/train/training_step.hpp>

namespace fleet {

/// What `distribute` returns: the training step, and around it whole epochs, evaluation, checkpoints and the report.
template <class M, class O, class S>
class Trainer : public TrainingStep<M, O, S> {
 public:
  using TrainingStep<M, O, S>::TrainingStep;

  /// One metric of the model's outputs over all samples of a loader, each sample once over all workers; the same value
  /// on every worker. `predict(batch)` gives outputs of shape [n, ...]; by default the model's own.
  template <class Loader, class Metric>
  double evaluate(Loader const& loader, Metric const& metric) {
    return evaluate(loader, metric, [this](auto const& batch) { return this->model().predict(batch); });
  }
  template <class Loader, class Metric, class Predict>
  double evaluate(Loader const& loader, Metric const& metric, Predict&& predict) {
    this->expect_between_steps("evaluate");
    auto state = metric.start();
    for (auto const& batch : loader.each_once()) {
      auto const output = predict(batch);
      state.update(output.values, output.shape, batch);
    }
    state.reduce(this->workers());
    return state.value();
  }

  /// Trains on `options.epochs` epochs of a loader; see fit.hpp.
  template <class Loader>
  FitResult fit(Loader& loader, FitOptions const& options) {
    return fleet::fit(*this, loader, options);
  }

  /// Saves all that is needed to go on bit for bit: parameters, optimizer, policies, counters, and whatever else is
  /// given, such as the loader in the middle of an epoch. Every worker calls it; see checkpoint.hpp.
  template <class... Extras>
  void save(std::filesystem::path const& path, Extras&... extras) {
    save_trainer(*this, path, extras...);
  }
  /// Loads what `save` saved, with the same extras. Throws CheckpointError on every worker and changes nothing if the
  /// set is damaged, or of another model, strategy or number of workers.
  template <class... Extras>
  void load(std::filesystem::path const& path, Extras&... extras) {
    load_trainer(*this, path, extras...);
  }
  /// Whether `load` would find a set at `path`; the same on every worker.
  bool has_saved(std::filesystem::path const& path) { return trainer_has_saved(*this, path); }
  /// Loads the parameters alone, whatever optimizer, strategy and number of workers saved them.
  void load_parameters(std::filesystem::path const& path) { load_trainer_parameters(*this, path); }

  /// What was composed, on what it runs, and what does not apply here and why; for people.
  std::string report() { return report_of(*this); }
};

}  // namespace fleet
