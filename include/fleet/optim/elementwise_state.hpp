#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fleet/core/aligned.hpp>
#include <fleet/core/vectorize.hpp>
#include <fleet/optim/learning_rate.hpp>
#include <fleet/optim/regularization.hpp>
#include <fleet/tensor/parameter.hpp>

namespace fleet::optim {

/// The running state of an optimizer whose rule works on one element at a time: `Settings::Rule` says how many
/// numbers an element keeps and what becomes of them. Parameters whose values and gradients lie side by side are
/// updated together, in one pass that reads gradient, value and state and writes value and state; regularisation
/// and a factor on the gradient are part of it. The result is the same to the bit as that of one parameter a time.
template <class Settings>
class ElementwiseState {
  using Rule = typename Settings::Rule;
  static constexpr std::size_t slots = Rule::slots.size();

 public:
  /// Throws ConfigurationError that names optimizer, field, value and range if a setting is out of its range.
  ElementwiseState(Settings const& settings, std::span<Parameter const> parameters)
      : settings_(settings), places_(parameters.size()) {
    auto const require = [](auto value, std::string_view field) {
      detail::require(std::isfinite(value) && value >= 0, Rule::optimizer, field, value, "a finite number, at least 0");
    };
    Rule::check(settings);
    require(settings.regularization.l1, "regularization");
    require(settings.regularization.l2, "regularization");
    lay_out(parameters);
    begin_update(0);
  }

  /// Fixes the rate of the update that follows. `index` counts the applied updates from 0; every rank gives the same.
  /// Throws ConfigurationError if the schedule gives no finite rate of at least 0.
  void begin_update(std::int64_t index) {
    rate_ = settings_.learning_rate.at(index);
    detail::require(std::isfinite(rate_) && rate_ >= 0, Rule::optimizer, "learning_rate", rate_,
                    "a finite number, at least 0");
  }

  float learning_rate() const { return rate_; }

  /// Updates one of the parameters that the state was made for; the others keep value and state.
  void update(std::size_t index, Parameter const& parameter, float gradient_factor = 1) {
    expect(index, parameter);
    ++places_[index].updates;
    pass(index, parameter.gradient.data(), parameter.value.data(), parameter.value.size(), gradient_factor);
  }

  /// Updates each parameter whose `active` flag is not 0 (an empty list: all), with `gradient_factor * gradient`; the
  /// others keep value and state. Takes the parameters that the state was made for, in the same order.
  void update_all(std::span<Parameter const> parameters, std::span<std::uint8_t const> active = {},
                  float gradient_factor = 1) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      expect(i, parameters[i]);
      if (active.empty() || active[i]) ++places_[i].updates;
    }
    for (std::size_t at = 0; at < order_.size();) {
      auto const first = order_[at++];
      if (!active.empty() && !active[first]) continue;
      auto const& start = parameters[first];
      auto count = start.value.size();
      for (; at < order_.size(); ++at) {
        auto const& next = parameters[order_[at]];
        if ((!active.empty() && !active[order_[at]]) || next.value.data() != start.value.data() + count ||
            next.gradient.data() != start.gradient.data() + count ||
            (Rule::counts_updates && places_[order_[at]].updates != places_[first].updates))
          break;
        count += next.value.size();
      }
      pass(first, start.gradient.data(), start.value.data(), count, gradient_factor);
    }
  }

  /// Calls `archive(name, piece)` for each piece of state, a span of floats or an integer, to save or to load it.
  template <class Archive>
  void archive(Archive& archive) {
    for (auto& place : places_) {
      for (std::size_t slot = 0; slot < slots; ++slot)
        archive(text("optimizer/", place.name, "/", Rule::slots[slot]),
                std::span{state_[slot]}.subspan(place.offset, place.size));
      if constexpr (Rule::counts_updates) archive(text("optimizer/", place.name, "/updates"), place.updates);
    }
  }

 private:
  struct Place {
    std::string name;
    std::size_t offset = 0, size = 0;
    std::int64_t updates = 0;
  };

  /// State lies in the order of the values in memory, so that where values join, state does too.
  void lay_out(std::span<Parameter const> parameters) {
    for (std::size_t i = 0; i < parameters.size(); ++i)
      if (!parameters[i].value.empty()) order_.push_back(i);
    std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      return std::less<>{}(parameters[a].value.data(), parameters[b].value.data());
    });
    std::size_t total = 0;
    for (auto i : order_) places_[i].offset = std::exchange(total, total + parameters[i].value.size());
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      places_[i].name = parameters[i].name;
      places_[i].size = parameters[i].value.size();
    }
    for (auto& slot : state_) slot.assign(total, 0.0f);
  }

  void expect(std::size_t index, Parameter const& parameter) const {
    if (index >= places_.size() || parameter.value.size() != places_[index].size)
      throw ContractError(text("fleet: optim::", Rule::optimizer, " got parameter ", parameter.name, " of ",
                               parameter.value.size(), " elements as number ", index,
                               ", which is not what its state was made for; make a new trainer for a changed model"));
  }

  /// One pass over `count` elements that begin at parameter `first`.
  void pass(std::size_t first, float const* gradient, float* value, std::size_t count, float factor) {
    detail::Regularize const regularize{settings_.regularization, factor};
    Rule const rule{settings_, rate_, places_[first].updates};
    auto const body = [regularize, rule](auto& g, auto& p, auto&... state) {
      regularize(g, p);
      rule(g, p, state...);
    };
    [&]<std::size_t... Slot>(std::index_sequence<Slot...>) {
      for_each_vector(count, body, gradient, value, (state_[Slot].data() + places_[first].offset)...);
    }
    (std::make_index_sequence<slots>{});
  }

  Settings settings_;
  std::vector<Place> places_;       // a parameter
  std::vector<std::size_t> order_;  // parameters that have elements, by address
  std::array<AlignedVector<float>, slots> state_;
  float rate_ = 0;
};

}  // namespace fleet::optim
