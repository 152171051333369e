#pragma once
#include <cstdint>
#include <optional>
#include <variant>

namespace fleet::nn {

/// Rows of logits [..., K] against one label a row: the mean over the rows that count of -sum q log softmax(x), with
/// q = (1 - e) onehot + e/K for label smoothing e. Rows whose label is `ignore_label` do not count; where none counts,
/// the loss and its gradients are 0. A label outside [0, K) is a ContractError.
struct SoftmaxCrossEntropy {
  float label_smoothing = 0;  ///< in [0, 1]
  std::optional<std::int64_t> ignore_label{};
};

enum class Reduction : std::uint8_t { mean, sum };

/// max(x, 0) - x t + ln(1 + exp(-|x|)) for logits x and targets t of one shape: their mean, or their sum over the
/// elements of the batch.
struct SigmoidCrossEntropy {
  Reduction reduction = Reduction::mean;
};

/// The mean of (x - target)^2 over all elements.
struct MeanSquaredError {};

using LossFunction = std::variant<SoftmaxCrossEntropy, SigmoidCrossEntropy, MeanSquaredError>;

}  // namespace fleet::nn
