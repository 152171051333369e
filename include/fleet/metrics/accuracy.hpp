#pragma once
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include <fleet/metrics/metric.hpp>

namespace fleet::metrics {

/// The part of samples whose label is among the k classes with the greatest scores. Outputs [n, classes], labels [n].
/// The place of a label is the number of classes with a greater score, and of lower classes with an equal one; a
/// score that is not a number counts as greater than the label's, so that a network that diverged is never right.
struct Accuracy {
  int k = 1;  ///< 1 to the number of classes

  class State {
   public:
    explicit State(std::size_t k) : k_(k) {}

    void update(std::span<float const> outputs, Shape const& shape, Truth truth) {
      once_.before_update("accuracy");
      if (shape.axes() == 0) throw ContractError("fleet: accuracy needs outputs of shape [n, classes], not one number");
      std::size_t const rows = static_cast<std::size_t>(shape[0]), classes = shape.row();
      detail::check_count("accuracy", "scores", outputs.size(), shape, rows * classes);
      detail::check_count("accuracy", "labels", truth.labels.size(), shape, rows);
      if (k_ > classes)
        throw ContractError(
            text("fleet: accuracy at ", k_, " needs as many classes, outputs have shape ", shape.text()));
      for (std::size_t row = 0; row < rows; ++row) {
        if (truth.labels[row] < 0 || truth.labels[row] >= static_cast<std::int64_t>(classes))
          throw ContractError(
              text("fleet: accuracy met label ", truth.labels[row], ", outputs have shape ", shape.text()));
        auto const label = static_cast<std::size_t>(truth.labels[row]);
        counts_[0] += place(outputs.subspan(row * classes, classes), label) < k_;
      }
      counts_[1] += static_cast<std::int64_t>(rows);
    }
    void reduce(comm::Communicator& workers) {
      once_.before_reduce("accuracy");
      workers.all_reduce(std::span<std::int64_t>{counts_});
    }
    /// Throws EmptyMetric.
    double value() const {
      if (total() == 0) throw EmptyMetric("accuracy");
      return static_cast<double>(correct()) / static_cast<double>(total());
    }
    std::int64_t correct() const { return counts_[0]; }
    std::int64_t total() const { return counts_[1]; }

   private:
    static std::size_t place(std::span<float const> scores, std::size_t label) {
      float const own = scores[label];
      std::size_t before = 0;
      for (float score : scores.first(label)) before += !(score < own);
      for (float score : scores.subspan(label + 1)) before += !(score <= own);
      return before;
    }

    std::size_t k_;
    std::array<std::int64_t, 2> counts_{};
    detail::Once once_;
  };

  /// Throws ConfigurationError for k below 1.
  State start() const {
    if (k < 1) throw ConfigurationError(text("fleet: Accuracy::k is ", k, "; give 1 to the number of classes"));
    return State{static_cast<std::size_t>(k)};
  }
};

}  // namespace fleet::metrics
