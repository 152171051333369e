#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fleet/comm/communicator.hpp>
#include <fleet/tensor/parameter.hpp>

namespace fleet {

/// One training step as policies see it. Every decision written here is the same on all workers: derive it from what
/// is the same everywhere (counters, reduced gradients), or agree on it first with `any_worker`.
class Step {
 public:
  Step(std::span<Parameter> parameters, comm::Communicator& workers)
      : parameters_(parameters), workers_(&workers), used_(parameters.size()) {}

  /// Forward passes before this one.
  std::int64_t micro_step() const { return micro_step_; }
  /// Updates applied before this one.
  std::int64_t update_index() const { return update_index_; }
  std::span<Parameter> parameters() const { return parameters_; }
  std::size_t index_of(Parameter const& parameter) const {
    return static_cast<std::size_t>(&parameter - parameters_.data());
  }
  comm::Communicator& workers() const { return *workers_; }
  /// This worker's mean loss, once the backward pass has run.
  float loss() const { return loss_; }
  /// The rate of this update, or 0 where the optimizer does not tell.
  float learning_rate() const { return learning_rate_; }

  /// In begin_step: gradients stay on this worker, and no update follows.
  void accumulate_only() { updates_ = false; }
  /// Whether this step ends with a reduction and an update.
  bool updates() const { return updates_; }
  /// Whether this step only closes a window that was cut short: no forward pass, and gradients of zero.
  bool flushing() const { return flushing_; }
  /// In begin_step: the loss is multiplied by it before the backward pass.
  void set_loss_scale(float scale) { loss_scale_ = scale; }
  float loss_scale() const { return loss_scale_; }

  /// Whether any worker had a gradient for the parameter in this window; known from before_update on. The others are
  /// not updated.
  bool used(std::size_t index) const { return used_[index] != 0; }

  /// Before the update: nothing is applied in this step.
  void skip(std::string reason) { skip_reason_ = std::move(reason); }
  bool skipped() const { return !skip_reason_.empty(); }
  std::string const& skip_reason() const { return skip_reason_; }

  /// Multiplies all gradients, without a pass over memory: the factor is applied by the optimizer's own pass.
  void scale_gradients(float factor) { gradient_factor_ *= factor; }
  /// What the stored gradients still have to be multiplied by.
  float gradient_factor() const { return gradient_factor_; }
  /// Applies the pending factor to the stored gradients.
  void apply_gradient_factor() {
    if (gradient_factor_ == 1) return;
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      if (used(i))
        for (auto& element : parameters_[i].gradient) element *= gradient_factor_;
    gradient_factor_ = 1;
  }

  /// The global norm of the gradient before clipping, for the result of the step.
  void set_gradient_norm(float norm) { gradient_norm_ = norm; }
  float gradient_norm() const { return gradient_norm_; }

  /// Whether the stored gradients are the same on all workers (false where a policy replaces the reduction).
  bool gradients_agree() const { return gradients_agree_; }
  /// Whether `flag` is set on any worker: one small message where gradients differ between workers, none where what
  /// follows from them is the same everywhere.
  bool any_worker(bool flag) const {
    if (gradients_agree_ || workers_->size() == 1) return flag;
    auto value = static_cast<std::int32_t>(flag);
    workers_->all_reduce(std::span{&value, 1}, comm::ReduceOp::max);
    return value != 0;
  }

 private:
  template <class, class, class>
  friend class TrainingStep;

  void restart() {
    updates_ = true;
    loss_ = 0;
    loss_scale_ = 1;
    gradient_factor_ = 1;
    gradient_norm_ = std::numeric_limits<float>::quiet_NaN();
    skip_reason_.clear();
  }

  std::span<Parameter> parameters_;
  comm::Communicator* workers_;
  std::vector<std::uint8_t> used_;
  std::int64_t micro_step_ = 0, update_index_ = 0;
  bool updates_ = true, flushing_ = false, gradients_agree_ = true;
  float loss_ = 0, loss_scale_ = 1, learning_rate_ = 0, gradient_factor_ = 1;
  float gradient_norm_ = std::numeric_limits<float>::quiet_NaN();
  std::string skip_reason_;
};

/// What a policy's state is made from, once the parameters are known.
struct Setup {
  std::span<Parameter> parameters;
  comm::Communicator& workers;
  std::vector<std::string>& notes;  ///< lines for Trainer::report(): what does not apply here, and why
};

}  // namespace fleet
