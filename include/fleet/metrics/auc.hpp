#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <fleet/metrics/metric.hpp>

namespace fleet::metrics {

/// The area under the curve of true over false positives, from histograms of the positive and negative samples by
/// score, lowest bucket first: trapezoids from the highest bucket down. 0.5 where one of the classes is missing.
inline double area_under_curve(std::span<std::int64_t const> positives, std::span<std::int64_t const> negatives) {
  detail::check_count("the area under a curve", "buckets of negatives", negatives.size(),
                      Shape{static_cast<std::int64_t>(positives.size())}, positives.size());
  double area = 0, above = 0, total_negatives = 0;
  for (std::size_t i = positives.size(); i-- > 0;) {
    auto const positive = static_cast<double>(positives[i]), negative = static_cast<double>(negatives[i]);
    area += negative * (above + (above + positive)) / 2;
    above += positive;
    total_negatives += negative;
  }
  return above > 0 && total_negatives > 0 ? area / (above * total_negatives) : 0.5;
}

/// The probability that a positive sample has a greater score than a negative one, equal scores counted one half, and
/// 0.5 where all samples of all workers are of one class. Outputs [n] or [n, 1]; labels [n], or else targets [n], of
/// 0 and 1. Exact by default, also on logits: every worker then gathers all workers' scores, 4 bytes a sample.
struct AUC {
  int num_thresholds = 0;  ///< 0: exact; else scores from 0 to 1 are put into num_thresholds + 1 buckets (Paddle: 4095)
  bool logits = false;     ///< scores are put through a sigmoid before they are put into buckets

  class State {
   public:
    State(int num_thresholds, bool logits) : num_thresholds_(num_thresholds), logits_(logits) {
      for (auto& buckets : buckets_) buckets.resize(exact() ? 0 : static_cast<std::size_t>(num_thresholds) + 1);
    }

    void update(std::span<float const> outputs, Shape const& shape, Truth truth) {
      once_.before_update("AUC");
      std::size_t const rows = shape.axes() ? static_cast<std::size_t>(shape[0]) : 1;
      detail::check_count("AUC", "score a sample", outputs.size(), shape, rows);
      if (truth.labels.empty())
        detail::check_count("AUC", "labels or targets", truth.targets.size(), shape, rows);
      else
        detail::check_count("AUC", "labels", truth.labels.size(), shape, rows);
      for (std::size_t i = 0; i < rows; ++i)
        add(outputs[i], truth.labels.empty() ? truth.targets[i] : static_cast<float>(truth.labels[i]));
    }
    void reduce(comm::Communicator& workers) {
      once_.before_reduce("AUC");
      workers.all_reduce(std::span<std::int64_t>{counts_});
      for (auto& scores : scores_)
        if (exact()) scores = workers.all_gather(scores);
      for (auto& buckets : buckets_)
        if (!exact()) workers.all_reduce(std::span{buckets});
    }
    /// Throws EmptyMetric, and ContractError for scores that are no numbers or, in buckets, not from 0 to 1.
    double value() const {
      auto const [samples, wrong] = counts_;
      if (samples == 0) throw EmptyMetric("AUC");
      if (wrong > 0)
        throw ContractError(
            text("fleet: AUC cannot order ", wrong, " of ", samples, " scores: they are not numbers",
                 exact() ? "" : " from 0 to 1; set .logits, or .num_thresholds = 0 for the exact area"));
      return exact() ? of_pairs() : area_under_curve(buckets_[1], buckets_[0]);
    }
    /// The histogram of the negative or positive samples; empty where the area is exact.
    std::span<std::int64_t const> buckets(bool positive) const { return buckets_[positive]; }

   private:
    bool exact() const { return num_thresholds_ == 0; }

    void add(float score, float truth) {
      if (truth != 0 && truth != 1) throw ContractError(text("fleet: AUC met label ", truth, "; labels are 0 or 1"));
      bool const positive = truth == 1;
      ++counts_[0];
      if (exact()) {
        if (std::isnan(score)) return void(++counts_[1]);
        return scores_[positive].push_back(score);
      }
      double const chance = logits_ ? 1 / (1 + std::exp(-static_cast<double>(score))) : static_cast<double>(score);
      if (!(chance >= 0 && chance <= 1)) return void(++counts_[1]);
      ++buckets_[positive][static_cast<std::size_t>(chance * num_thresholds_)];
    }

    double of_pairs() const {
      auto [negatives, positives] = scores_;
      if (negatives.empty() || positives.empty()) return 0.5;
      std::sort(negatives.begin(), negatives.end());
      std::sort(positives.begin(), positives.end());
      std::uint64_t halves = 0;  // for each pair: 2 if the positive is greater, 1 if they are equal
      auto below = negatives.begin(), up_to = negatives.begin();
      for (float score : positives) {
        while (below != negatives.end() && *below < score) ++below;
        while (up_to != negatives.end() && *up_to <= score) ++up_to;
        halves += static_cast<std::uint64_t>((below - negatives.begin()) + (up_to - negatives.begin()));
      }
      return static_cast<double>(halves) / 2 /
             (static_cast<double>(positives.size()) * static_cast<double>(negatives.size()));
    }

    int num_thresholds_;
    bool logits_;
    std::array<std::vector<float>, 2> scores_;  // of negatives, of positives
    std::array<std::vector<std::int64_t>, 2> buckets_;
    std::array<std::int64_t, 2> counts_{};  // samples, and those whose score is of no use
    detail::Once once_;
  };

  /// Throws ConfigurationError for a negative number of thresholds.
  State start() const {
    if (num_thresholds < 0)
      throw ConfigurationError(text("fleet: AUC::num_thresholds is ", num_thresholds, "; give 0 (exact) or more"));
    return State{num_thresholds, logits};
  }
};

}  // namespace fleet::metrics
