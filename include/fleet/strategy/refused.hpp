#pragma once
#include <fleet/strategy/hooks.hpp>

namespace fleet {

/// Why a policy is not taken: the compiler prints the name of the member that is never defined.
template <class P>
struct refused {
  struct it_has_no_hook_that_fleet_calls;
  struct it_is_listed_twice;
  struct its_hook_begin_step_cannot_be_called_with_a_Step;
  struct its_hook_gradient_ready_cannot_be_called_with_a_Step_and_a_Parameter;
  struct its_hook_before_update_cannot_be_called_with_a_Step;
  struct its_hook_update_cannot_be_called_with_a_Step_a_Parameter_and_next;
  struct its_hook_after_update_cannot_be_called_with_a_Step;
};

namespace detail {

struct Taken {};

template <class P, class R, int times>
constexpr auto verdict() {
  if constexpr (times > 1)
    return std::type_identity<typename refused<P>::it_is_listed_twice>{};
  else if constexpr (settings_only<P>)
    return std::type_identity<Taken>{};
  else if constexpr (names_begin_step<R> && !has_begin_step<R>)
    return std::type_identity<typename refused<P>::its_hook_begin_step_cannot_be_called_with_a_Step>{};
  else if constexpr (names_gradient_ready<R> && !has_gradient_ready<R>)
    return std::type_identity<
        typename refused<P>::its_hook_gradient_ready_cannot_be_called_with_a_Step_and_a_Parameter>{};
  else if constexpr (names_before_update<R> && !has_before_update<R>)
    return std::type_identity<typename refused<P>::its_hook_before_update_cannot_be_called_with_a_Step>{};
  else if constexpr (names_update<R> && !has_update<R>)
    return std::type_identity<typename refused<P>::its_hook_update_cannot_be_called_with_a_Step_a_Parameter_and_next>{};
  else if constexpr (names_after_update<R> && !has_after_update<R>)
    return std::type_identity<typename refused<P>::its_hook_after_update_cannot_be_called_with_a_Step>{};
  else if constexpr (!has_hook<R>)
    return std::type_identity<typename refused<P>::it_has_no_hook_that_fleet_calls>{};
  else
    return std::type_identity<Taken>{};
}

template <class P, class... Ps>
struct Judged : decltype(verdict<P, runtime_of_t<P>, (0 + ... + int{same_kind<P, Ps>})>())::type {};

/// The rules that a policy holds about its company: a nested template `among<Policies...>` of static_asserts.
template <class P, class... Ps>
constexpr bool fits_among = true;
template <class P, class... Ps>
requires requires { typename P::template among<Ps...>; }
constexpr bool fits_among<P, Ps...> = sizeof(typename P::template among<Ps...>) > 0;

/// The first base of Strategy, so that its error is the first one shown.
template <class... Ps>
struct Admitted {
  static_assert(((sizeof(Judged<Ps, Ps...>) > 0) && ... && true));
  static_assert((fits_among<Ps, Ps...> && ... && true));
};

}  // namespace detail
}  // namespace fleet
