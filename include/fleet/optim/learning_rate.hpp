#pragma once
#include <concepts>
#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fleet/core/error.hpp>

namespace fleet::optim {

/// What can stand for a learning rate: `at(step)` is the rate of the step-th applied update, counted from 0.
template <class S>
concept Schedule = requires(S const& schedule, std::int64_t step) {
  { schedule.at(step) } -> std::convertible_to<double>;
};

/// A learning rate: a number, or any schedule of `schedules.hpp` or of your own. Cheap to copy and to evaluate.
class LearningRate {
 public:
  template <class Number>
  requires std::is_arithmetic_v<Number> LearningRate(Number rate)
      : constant_(static_cast<float>(rate)) {}  // NOLINT(google-explicit-constructor): it is one

  /// Throws ConfigurationError if a setting of the schedule is out of its range.
  template <Schedule S>
  requires(!std::same_as<S, LearningRate>)
      LearningRate(S schedule) {  // NOLINT(google-explicit-constructor): a schedule is one
    if constexpr (requires { schedule.check(); }) schedule.check();
    schedule_ = std::make_shared<Of<S> const>(std::move(schedule));
  }

  /// The rate of the step-th applied update, counted from 0. Every rank gets the same.
  float at(std::int64_t step) const { return schedule_ ? schedule_->at(step) : constant_; }

 private:
  struct Any {
    virtual ~Any() = default;
    virtual float at(std::int64_t step) const = 0;
  };
  template <class S>
  struct Of final : Any {
    explicit Of(S s) : schedule(std::move(s)) {}
    float at(std::int64_t step) const override { return static_cast<float>(schedule.at(step)); }
    S schedule;
  };

  float constant_ = 0;
  std::shared_ptr<Any const> schedule_;
};

namespace detail {

/// Throws ConfigurationError that names owner, field, value and range unless `fits`.
template <class Value>
void require(bool fits, std::string_view owner, std::string_view field, Value value, std::string_view range) {
  if (!fits)
    throw ConfigurationError(
        text("fleet: optim::", owner, " has ", field, " = ", value, "; it must be ", range, ". Change .", field));
}

}  // namespace detail
}  // namespace fleet::optim
