#pragma once
#include <cstddef>
#include <string>
#include <utility>

#include <fleet/core/type_name.hpp>
#include <fleet/strategy/refused.hpp>

namespace fleet {
namespace detail {

template <std::size_t, class P>
struct PolicyAt {
  P policy;
};

template <class Indices, class... Ps>
struct PolicyPack;
template <std::size_t... I, class... Ps>
struct PolicyPack<std::index_sequence<I...>, Ps...> : PolicyAt<I, Ps>... {};

}  // namespace detail

/// How training is distributed: a value whose type lists its policies. What is not in the list adds no code; what
/// cannot work together does not compile, and the message says what to do. The order of the list does not matter.
/// Settings are checked here: throws ConfigurationError naming policy, field, value and range.
template <class... Ps>
class Strategy : detail::Admitted<Ps...> {
 public:
  explicit Strategy(Ps... policies) : policies_{{std::move(policies)}...} {
    for_each([](auto const& policy) {
      if constexpr (requires { policy.validate(); }) policy.validate();
    });
  }

  /// Calls `function(policy)` for each policy in the order of the list.
  template <class Function>
  void for_each(Function&& function) const {
    visit(function, std::index_sequence_for<Ps...>{});
  }

  template <std::size_t I>
  auto const& policy() const {
    return at<I>(policies_);
  }

  /// The settings of one kind of policy, or its defaults where it is not listed.
  template <class P>
  P settings() const {
    P found{};
    for_each([&](auto const& policy) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(policy)>, P>) found = policy;
    });
    return found;
  }

  template <class P>
  static constexpr bool contains = (same_kind<P, Ps> || ...);
  static constexpr bool replaces_reduction = (detail::replaces_reduction<Ps> || ...);
  static constexpr bool replaces_update = (detail::replaces_update<Ps> || ...);
  /// Whether workers train apart for some steps, each on its own parameters.
  static constexpr bool parameters_differ = (detail::parameters_differ<Ps> || ...);

  /// "Strategy<GradientMerge<4>, ClipGradientNorm>"
  static std::string text() {
    std::string list;
    ((list += (list.empty() ? "" : ", ") + type_name<Ps>()), ...);
    return "Strategy<" + list + ">";
  }

 private:
  template <std::size_t I, class P>
  static P const& at(detail::PolicyAt<I, P> const& holder) {
    return holder.policy;
  }
  template <class Function, std::size_t... I>
  void visit(Function& function, std::index_sequence<I...>) const {
    (function(policy<I>()), ...);
  }

  detail::PolicyPack<std::index_sequence_for<Ps...>, Ps...> policies_;
};

template <class... Ps>
Strategy(Ps...) -> Strategy<Ps...>;

}  // namespace fleet
