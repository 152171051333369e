#pragma once
#include <concepts>
#include <cstdint>
#include <span>

#include <fleet/tensor/parameter.hpp>

namespace fleet::optim {
namespace detail {
struct AnyArchive {
  void operator()(std::string_view name, auto&& piece);
};
}  // namespace detail

/// An optimizer that is a plain value of settings, with a running state of its own type, which updates all
/// parameters at once and can be saved. All optimizers of this area are; an optimizer of your own need not be.
template <class O>
concept StatefulOptimizer = std::constructible_from<typename O::State, O const&, std::span<Parameter const>> &&
    requires(typename O::State& state, std::span<Parameter const> parameters, std::span<std::uint8_t const> active,
             Parameter const& parameter, detail::AnyArchive& archive) {
  state.begin_update(std::int64_t{0});
  state.update(std::size_t{0}, parameter, 1.0f);
  state.update_all(parameters, active, 1.0f);
  { state.learning_rate() } -> std::convertible_to<float>;
  state.archive(archive);
};

}  // namespace fleet::optim
