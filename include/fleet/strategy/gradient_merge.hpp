#pragma once
#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fleet/strategy/hooks.hpp>

namespace fleet {

struct GradientMergeKind;

/// Gradients of k steps are summed on each worker, reduced over the workers once, and applied once: the memory of a
/// small batch for the step of a large one. At micro-steps k, 2k, ... (spec 3.2; Decisions, 3):
///   G = mean over workers of the sum over the window; divided by the window's length if `average`.
/// A schedule advances once a window. A window cut short, as at the end of `fit`, is applied with its own length as
/// divisor, or dropped.
template <int k>
struct GradientMerge {
  static_assert(k >= 1,
                "fleet: GradientMerge<k> merges k steps, so k must be at least 1. Write GradientMerge<4>, or leave the "
                "policy out to update at every step.");

  bool average = true;     ///< mean over the window; false: sum
  bool keep_short = true;  ///< a last window of fewer than k steps is applied; false: it is dropped

  using kind = GradientMergeKind;
  static constexpr Phase phase = Phase::accumulate;

  class State {
   public:
    State(GradientMerge const& settings, Setup const& setup) : settings_(settings) {
      if constexpr (k > 1)
        for (auto const& parameter : setup.parameters) sums_.emplace_back(parameter.value.size());
      else
        setup.notes.emplace_back("GradientMerge<1> merges nothing: every step is a window of its own");
    }

    void begin_step(Step& step) {
      if (!step.flushing()) ++length_;
      if (length_ < k && !step.flushing()) step.accumulate_only();
    }

    void gradient_ready(Step& step, Parameter& parameter) {
      if constexpr (k > 1) {
        auto& sum = sums_[step.index_of(parameter)];
        auto const gradient = parameter.gradient;
        if (step.updates())
          std::transform(gradient.begin(), gradient.end(), sum.begin(), gradient.begin(), std::plus{});
        else if (length_ == 1)
          std::copy(gradient.begin(), gradient.end(), sum.begin());
        else
          std::transform(sum.begin(), sum.end(), gradient.begin(), sum.begin(), std::plus{});
      }
    }

    void before_update(Step& step) {
      if (settings_.average) step.scale_gradients(1.0f / static_cast<float>(length_));
      length_ = 0;
    }

    /// Steps in the window that is under way.
    int length() const { return length_; }
    /// Whether a window cut short should be applied.
    bool wants_flush() const { return length_ > 0 && settings_.keep_short; }
    void drop_window() { length_ = 0; }

    template <class Archive>
    void archive(Archive& archive) {
      archive("length", length_);
      for (std::size_t i = 0; i < sums_.size(); ++i) archive(text("sum/", i), std::span<float>{sums_[i]});
    }

   private:
    GradientMerge settings_;
    int length_ = 0;
    std::vector<std::vector<float>> sums_;  ///< of the window's steps before this one; valid while length_ > 0
  };
};

}  // namespace fleet
