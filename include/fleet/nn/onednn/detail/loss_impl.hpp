#pragma once
#include <algorithm>
#include <cmath>
#include <fleet/core/error.hpp>
#include <fleet/core/vectorize.hpp>
#include <fleet/nn/onednn/detail/exponential.hpp>
#include <fleet/nn/onednn/detail/lowering.hpp>

namespace fleet::nn::onednn::detail {

/// What the losses share: `loss` gives the mean and writes the gradient.
class LossOp : public Op {
 public:
  LossOp(Lowering& lowering, Value const& value)
      : buffers_(lowering.buffers()),
        values_(value.data),
        gradient_(value.wants_gradient() ? value.gradient : buffers_.make(value.desc.get_size())) {
    lowering.reads(value, false);
    buffers_.use(gradient_, lowering.forward_now());
    buffers_.use(gradient_, lowering.backward_now());
  }
  void forward(Run& run) final { run.loss = loss(run, buffers_.data(values_), buffers_.data(gradient_)); }

 protected:
  virtual float loss(Run& run, float const* values, float* gradient) = 0;

 private:
  Buffers& buffers_;
  BufferId values_, gradient_;
};

class SoftmaxCrossEntropyOp final : public LossOp {
 public:
  SoftmaxCrossEntropyOp(Lowering& lowering, SoftmaxCrossEntropy const& settings, Value const& value, Shape const& shape)
      : LossOp(lowering, value),
        settings_(settings),
        classes_(static_cast<std::size_t>(shape[shape.axes() - 1])),
        rows_(classes_ ? shape.count() / classes_ : 0) {}

 private:
  float loss(Run& run, float const* values, float* gradient) override {
    auto const counting = check(run.batch.labels);
    double sum = 0;
    float const weight = counting ? run.loss_scale / static_cast<float>(counting) : 0;
    for (std::size_t row = 0; row < rows_; ++row) {
      auto const label = run.batch.labels[row];
      float* const row_gradient = gradient + row * classes_;
      if (settings_.ignore_label && label == *settings_.ignore_label) {
        std::fill_n(row_gradient, classes_, 0.0f);
      } else {
        sum += row_loss(values + row * classes_, static_cast<std::size_t>(label), row_gradient, weight);
      }
    }
    return counting ? static_cast<float>(sum / static_cast<double>(counting)) : 0;
  }

  /// -sum q log p of one row, and weight (p - q).
  double row_loss(float const* logits, std::size_t label, float* gradient, float weight) const {
    float const smoothing = settings_.label_smoothing;
    float const greatest = *std::max_element(logits, logits + classes_);
    for_each_vector(
        classes_,
        [greatest](auto& x, auto& e) {
          e = x - greatest;
          take_exponential(e);
        },
        logits, gradient);
    float const total = sum(gradient), log_total = std::log(total);
    float const even = smoothing / static_cast<float>(classes_);
    for_each_vector(
        classes_, [=, share = 1 / total](auto& g) { g = (g * share - even) * weight; }, gradient);
    gradient[label] -= weight * (1 - smoothing);

    double loss = static_cast<double>(1 - smoothing) * static_cast<double>(log_total - (logits[label] - greatest));
    if (smoothing > 0)
      loss += static_cast<double>(smoothing) *
              static_cast<double>(log_total + greatest - sum(logits) / static_cast<float>(classes_));
    return loss;
  }

  float sum(float const* values) const {
    struct {
      Floats lanes{};
      void operator()(Floats& x) { lanes += x; }
    } total;
    for_each_vector(classes_, total, values);
    float result = 0;
    for (std::size_t i = 0; i < float_lanes; ++i) result += total.lanes[i];
    return result;
  }

  /// The number of rows that count.
  std::size_t check(std::span<std::int64_t const> labels) const {
    if (labels.size() != rows_)
      throw ContractError(fleet::text("fleet: SoftmaxCrossEntropy has ", rows_, " rows of logits and ", labels.size(),
                                      " labels; give the batch one label a row (batch.labels)"));
    std::size_t counting = 0;
    for (std::size_t row = 0; row < rows_; ++row) {
      if (settings_.ignore_label && labels[row] == *settings_.ignore_label) continue;
      if (labels[row] < 0 || labels[row] >= static_cast<std::int64_t>(classes_))
        throw ContractError(fleet::text("fleet: label ", labels[row], " of row ", row, " is not in [0, ", classes_,
                                        "): the network gives ", classes_,
                                        " logits a row; widen its last layer or mend the labels"));
      ++counting;
    }
    return counting;
  }

  SoftmaxCrossEntropy settings_;
  std::size_t classes_, rows_;
};

/// Losses that compare with targets of the same shape.
class TargetLossOp : public LossOp {
 public:
  TargetLossOp(Lowering& lowering, Value const& value, Shape const& shape)
      : LossOp(lowering, value), shape_(shape), count_(shape.count()) {}

 protected:
  std::size_t count() const { return count_; }
  float const* targets(Run const& run, std::string_view name) const {
    if (run.batch.targets.size() != count_)
      throw ContractError(fleet::text("fleet: ", name, " has ", shape_.text(), " of the network and ",
                                      run.batch.targets.size(),
                                      " targets; give the batch one target an element (batch.targets)"));
    return run.batch.targets.data();
  }

 private:
  Shape shape_;
  std::size_t count_;
};

class SigmoidCrossEntropyOp final : public TargetLossOp {
 public:
  SigmoidCrossEntropyOp(Lowering& lowering, SigmoidCrossEntropy settings, Value const& value, Shape const& shape)
      : TargetLossOp(lowering, value, shape), mean_(settings.reduction == Reduction::mean) {}

 private:
  float loss(Run& run, float const* values, float* gradient) override {
    auto const* const target = targets(run, "SigmoidCrossEntropy");
    double const elements = mean_ ? static_cast<double>(count()) : 1;
    double sum = 0;
    for (std::size_t i = 0; i < count(); ++i) {
      float const x = values[i], e = std::exp(-std::abs(x));
      sum += static_cast<double>(std::max(x, 0.0f) - x * target[i] + std::log1p(e));
      float const sigmoid = (x >= 0 ? 1 : e) / (1 + e);
      gradient[i] = (sigmoid - target[i]) * run.loss_scale / static_cast<float>(elements);
    }
    return count() ? static_cast<float>(sum / elements) : 0;
  }

  bool mean_;
};

class MeanSquaredErrorOp final : public TargetLossOp {
 public:
  using TargetLossOp::TargetLossOp;

 private:
  float loss(Run& run, float const* values, float* gradient) override {
    auto const* const target = targets(run, "MeanSquaredError");
    float const weight = 2 * run.loss_scale / static_cast<float>(std::max<std::size_t>(count(), 1));
    double sum = 0;
    for (std::size_t i = 0; i < count(); ++i) {
      float const error = values[i] - target[i];
      sum += static_cast<double>(error) * static_cast<double>(error);
      gradient[i] = error * weight;
    }
    return count() ? static_cast<float>(sum / static_cast<double>(count())) : 0;
  }
};

FLEET_BODY void lower_loss(Lowering& lowering, LossFunction const& loss, Value const& value, Shape const& shape) {
  if (auto const* softmax = std::get_if<SoftmaxCrossEntropy>(&loss))
    lowering.add<SoftmaxCrossEntropyOp>(lowering, *softmax, value, shape);
  else if (auto const* sigmoid = std::get_if<SigmoidCrossEntropy>(&loss))
    lowering.add<SigmoidCrossEntropyOp>(lowering, *sigmoid, value, shape);
  else
    lowering.add<MeanSquaredErrorOp>(lowering, value, shape);
}

}  // namespace fleet::nn::onednn::detail
