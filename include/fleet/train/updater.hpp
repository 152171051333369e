#pragma once
#include <concepts>
#include <cstdint>
#include <span>

#include <fleet/optim/optimizer.hpp>
#include <fleet/tensor/parameter.hpp>

namespace fleet {

/// Any type with this member is an optimizer: it changes `parameter.value` by `parameter.gradient`.
template <class O>
concept PlainOptimizer = requires(O& optimizer, Parameter const& parameter) {
  optimizer.update(parameter);
};

/// Drives the optimizer: one of `fleet::optim` by its running state, in one fused pass; a user's by its `update`.
template <class O>
class Updater {
  static_assert(
      optim::StatefulOptimizer<O> || PlainOptimizer<O>,
      "fleet: an optimizer needs update(fleet::Parameter const&). Add that member, or pass one of fleet::optim.");

 public:
  Updater(O optimizer, std::span<Parameter const>) : optimizer_(std::move(optimizer)) {}

  void begin_update(std::int64_t) {}
  float learning_rate() const { return 0; }
  /// Whether gradients may still have a factor to be applied.
  static constexpr bool takes_factor = false;

  void update(std::size_t, Parameter const& parameter, float) { optimizer_.update(parameter); }
  void update_all(std::span<Parameter const> parameters, std::span<std::uint8_t const> active, float) {
    for (std::size_t i = 0; i < parameters.size(); ++i)
      if (active[i]) optimizer_.update(parameters[i]);
  }

  template <class Archive>
  void archive(Archive& archive) {
    if constexpr (saves<Archive>) optimizer_.archive(archive);
  }
  template <class Archive>
  static constexpr bool saves = requires(O& optimizer, Archive& archive) {
    optimizer.archive(archive);
  };

 private:
  O optimizer_;
};

template <optim::StatefulOptimizer O>
class Updater<O> {
 public:
  Updater(O const& optimizer, std::span<Parameter const> parameters) : state_(optimizer, parameters) {}

  void begin_update(std::int64_t index) { state_.begin_update(index); }
  float learning_rate() const { return state_.learning_rate(); }
  static constexpr bool takes_factor = true;

  void update(std::size_t index, Parameter const& parameter, float factor) { state_.update(index, parameter, factor); }
  void update_all(std::span<Parameter const> parameters, std::span<std::uint8_t const> active, float factor) {
    state_.update_all(parameters, active, factor);
  }

  template <class Archive>
  void archive(Archive& archive) {
    state_.archive(archive);
  }
  template <class Archive>
  static constexpr bool saves = true;

 private:
  typename O::State state_;
};

}  // namespace fleet
