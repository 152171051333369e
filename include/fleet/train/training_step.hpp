#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <fleet/job/job.hpp>
#include <fleet/strategy/fuse_all_reduce.hpp>
#include <fleet/strategy/gradient_reducer.hpp>
#include <fleet/strategy/join.hpp>
#include <fleet/strategy/pipeline.hpp>
#include <fleet/train/agreement.hpp>
#include <fleet/train/model.hpp>
#include <fleet/train/notes.hpp>
#include <fleet/train/step_result.hpp>
#include <fleet/train/updater.hpp>

namespace fleet {

/// The training step of one model with one optimizer under one strategy. Every worker makes the same calls in the same
/// order. `M` is the model, or a reference to one that the caller keeps. A step has three parts, which hand-written
/// loops may call one by one: `forward_backward`, `synchronize`, `update`.
template <class M, class O, class S>
class TrainingStep {
 public:
  using Model = std::remove_reference_t<M>;
  using Optimizer = O;

  TrainingStep(Job& job, M&& model, O optimizer, S const& strategy)
      : job_(&job),
        model_(std::forward<M>(model)),
        parameters_(parameters_of(model_)),
        step_(parameters_, job.communicator()),
        strategy_(strategy),
        updater_(optimizer, S::replaces_update ? std::span<Parameter const>{} : parameters_),
        pipeline_(strategy, Setup{parameters_, job.communicator(), notes_}, optimizer),
        active_(parameters_.size()) {
    agree_on_parameters(parameters_, workers());
    note_what_does_not_apply<S, O>(notes_, workers(), pipeline_);
    step_.gradients_agree_ = !S::replaces_reduction;
    if (workers().size() == 1) return;
    if constexpr (!S::replaces_reduction)
      reducer_.emplace(parameters_, workers(), strategy.template settings<FuseAllReduce>().limits());
    agreement_.emplace(parameters_, workers());
  }
  TrainingStep(TrainingStep const&) = delete;
  TrainingStep& operator=(TrainingStep const&) = delete;

  /// Trains on one batch of this worker. Throws TransportError if another worker is lost, late or out of step.
  template <class Batch>
  StepResult step(Batch const& batch) {
    forward_backward(batch);
    synchronize();
    return update();
  }

  /// Part 1: the loss and this worker's gradients, whose reduction may have begun. Returns the mean loss.
  template <class Batch>
  float forward_backward(Batch const& batch) {
    begin(Stage::backward, false);
    auto const ready = [this](std::size_t parameter) { gradient_ready(parameter); };
    step_.loss_ = fleet::forward_backward(model_, batch, LossScale{step_.loss_scale()}, GradientReady{ready});
    finish_gradients(!reports_gradients<Model, Batch>);
    return step_.loss_;
  }

  /// Part 2: gradients become their mean over the workers, at the end of a window. Until `update` the stored gradients
  /// may lack a common factor; `gradients()` gives them in full.
  void synchronize() {
    expect(Stage::synchronize, "synchronize");
    stage_ = Stage::update;
    if (!step_.updates()) return;
    if (agreement_ && !S::replaces_reduction)
      reduce(true);
    else if (agreement_ && !S::parameters_differ)
      agreement_->exchange(window_used_, true);
    std::copy(window_used_.begin(), window_used_.end(), step_.used_.begin());
  }

  /// Part 3: clips and applies the gradients.
  StepResult update() {
    expect(Stage::update, "update");
    if (step_.updates() && !finished_) apply();
    return close();
  }

  /// In place of `update`: leaves the parameters as they are. Every worker alike.
  StepResult skip_update(std::string reason = "the caller skips it") {
    expect(Stage::update, "skip_update");
    step_.skip(std::move(reason));
    return close();
  }

  /// The reduced gradients in full, between `synchronize` and `update`.
  std::span<Parameter const> gradients() {
    expect(Stage::update, "gradients");
    step_.apply_gradient_factor();
    return parameters_;
  }

  /// Applies a merge window that was cut short (or drops it, if the policy says so). Every worker alike.
  StepResult flush() {
    bool wanted = false;
    pipeline_.for_each([&](auto const&, auto& policy) {
      if constexpr (requires { policy.wants_flush(); }) {
        wanted = policy.wants_flush();
        if (!wanted) policy.drop_window();
      }
    });
    if (!wanted) {
      window_used_.assign(window_used_.size(), 0);
      return {};
    }
    begin(Stage::backward, true);
    finish_gradients(false);
    synchronize();
    return update();
  }

  /// Called by every worker that has no batch left, under the policy Join: takes part in the others' steps until all
  /// have called it, so that none waits for ever.
  void join() {
    static_assert(S::template contains<Join>,
                  "fleet: join() needs the policy Join. Add fleet::Join{} to the strategy.");
    static_assert(!S::replaces_reduction, "fleet: Join goes with the plain reduction of gradients only. Leave it out.");
    while (agreement_) {
      begin(Stage::backward, true);
      finish_gradients(false);
      if (!step_.updates()) throw ContractError("fleet: join() in the middle of a merge window; call flush() first");
      if (reduce(false) == 0) break;
      std::copy(window_used_.begin(), window_used_.end(), step_.used_.begin());
      stage_ = Stage::update;
      update();
    }
    window_used_.assign(window_used_.size(), 0);
    stage_ = Stage::backward;
    finished_ = false;
  }

  /// Under Join::stop_at_shortest: whether a worker has run out, so that no more steps are applied.
  bool finished() const { return finished_; }

  /// Throws ContractError unless the last step is complete.
  void expect_between_steps(char const* call) const { expect(Stage::backward, call); }

  Job& job() const { return *job_; }
  comm::Communicator& workers() const { return job_->communicator(); }
  Model& model() { return model_; }
  std::span<Parameter> parameters() { return parameters_; }
  S const& strategy() const { return strategy_; }
  std::int64_t micro_steps() const { return step_.micro_step(); }
  std::int64_t updates() const { return step_.update_index(); }
  /// Messages and bytes of the gradient reduction so far.
  ReductionCounters reduction() const { return reducer_ ? reducer_->counters() : ReductionCounters{}; }
  std::vector<std::string> const& notes() const { return notes_; }

  /// All that training needs to go on bit for bit, in an order that is the same on every worker.
  template <class Archive>
  void archive(Archive& archive) {
    archive_parameters(archive);
    if constexpr (requires { model_.archive(archive); }) model_.archive(archive);
    updater_.archive(archive);
    auto const scope = archive.scope("strategy");
    pipeline_.archive(archive);
    archive("micro_step", step_.micro_step_);
    archive("update_index", step_.update_index_);
    archive("window_used", std::span{window_used_});
  }
  template <class Archive>
  void archive_parameters(Archive& archive) {
    for (auto& parameter : parameters_) archive("parameters/" + parameter.name, parameter.value, parameter.shape);
  }

 private:
  enum class Stage : std::uint8_t { backward, synchronize, update };

  void expect(Stage stage, char const* call) const {
    if (stage_ != stage)
      throw ContractError(
          text("fleet: Trainer::", call, " out of turn; a step is forward_backward, synchronize, update"));
  }

  void begin(Stage stage, bool flushing) {
    expect(stage, flushing ? "flush" : "forward_backward");
    step_.restart();
    step_.flushing_ = flushing;
    updater_.begin_update(step_.update_index());
    step_.learning_rate_ = updater_.learning_rate();
    pipeline_.begin_step(step_);
    if (reducer_) reducer_->begin();
    ready_.assign(parameters_.size(), 0);
  }

  void gradient_ready(std::size_t i) {
    if (i >= ready_.size() || ready_[i])
      throw ContractError(text("fleet: the model reports gradient ", i,
                               i < ready_.size() ? " twice" : ", which it does not have",
                               "; report each parameter once a pass, when its gradient is final"));
    ready_[i] = 1;
    window_used_[i] = 1;
    pass_on(i);
  }

  void pass_on(std::size_t i) {
    pipeline_.gradient_ready(step_, parameters_[i]);
    if (reducer_ && step_.updates()) reducer_->ready(i);
  }

  /// Gradients that the pass did not report: all of them, for a model that does not report; else zeros.
  void finish_gradients(bool all_used) {
    for (std::size_t i = parameters_.size(); i-- > 0;) {
      if (ready_[i]) continue;
      if (all_used)
        window_used_[i] = 1;
      else
        std::ranges::fill(parameters_[i].gradient, 0.0f);
      pass_on(i);
    }
    stage_ = Stage::synchronize;
  }

  /// Sums the gradients over the workers and agrees on what was used. Returns the workers that had a batch.
  int reduce(bool has_batch) try {
    reducer_->finish();
    int const active = agreement_->exchange(window_used_, has_batch);
    auto const mode = strategy_.template settings<Join>().mode;
    bool const counts_absent = !S::template contains<Join> || mode == Join::Mode::absent_as_zero;
    finished_ = active < workers().size() && S::template contains<Join> && mode == Join::Mode::stop_at_shortest;
    if (active > 0) step_.scale_gradients(1.0f / static_cast<float>(counts_absent ? workers().size() : active));
    return active;
  } catch (TransportError const& error) {
    throw TransportError(error.cause(), error.peer(), error.operation(),
                         text(error.what(), " (in training step ", step_.micro_step() + 1, ")"));
  }

  void apply() {
    pipeline_.before_update(step_);
    if (!step_.skipped()) {
      if constexpr (!Updater<O>::takes_factor) step_.apply_gradient_factor();
      for (std::size_t i = 0; i < active_.size(); ++i) active_[i] = step_.used(i) && parameters_[i].trainable;
      if constexpr (Pipeline<S>::wraps_update) {
        for (std::size_t i = 0; i < parameters_.size(); ++i) {
          if (!active_[i]) continue;
          auto innermost = [&] { updater_.update(i, parameters_[i], step_.gradient_factor()); };
          pipeline_.update(step_, parameters_[i], innermost);
        }
      } else {
        updater_.update_all(parameters_, active_, step_.gradient_factor());
      }
      pipeline_.after_update(step_);
      applied_ = true;
    }
  }

  StepResult close() {
    StepResult result{step_.loss(), applied_, step_.loss_scale(), step_.gradient_norm(), step_.skip_reason()};
    step_.update_index_ += applied_ ? 1 : 0;
    if (!step_.flushing()) ++step_.micro_step_;
    if (step_.updates()) window_used_.assign(window_used_.size(), 0);
    applied_ = false;
    stage_ = Stage::backward;
    return result;
  }

  Job* job_;
  M model_;
  std::vector<Parameter> parameters_;
  std::vector<std::string> notes_;
  Step step_;
  S strategy_;
  Updater<O> updater_;
  Pipeline<S> pipeline_;
  std::optional<GradientReducer> reducer_;
  std::optional<StepAgreement> agreement_;
  std::vector<std::uint8_t> ready_ = std::vector<std::uint8_t>(parameters_.size());
  std::vector<std::uint8_t> window_used_ = std::vector<std::uint8_t>(parameters_.size());
  std::vector<std::uint8_t> active_;
  Stage stage_ = Stage::backward;
  bool applied_ = false, finished_ = false;
};

}  // namespace fleet
