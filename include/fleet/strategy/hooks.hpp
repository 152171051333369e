#pragma once
#include <fleet/core/function_ref.hpp>
#include <fleet/strategy/phase.hpp>
#include <fleet/strategy/step.hpp>

namespace fleet {

/// Carries out the rest of one parameter's update: the next wrapper, or the optimizer itself.
using NextUpdate = FunctionRef<void()>;

namespace detail {

template <class P>
struct runtime_of {
  using type = P;
};
template <class P>
requires requires { typename P::State; }
struct runtime_of<P> {
  using type = typename P::State;
};

/// Where the hooks of a policy live: in its nested `State`, made when the parameters are known, or in itself.
template <class P>
using runtime_of_t = typename runtime_of<P>::type;

template <class R>
concept has_begin_step = requires(R& r, Step& step) {
  r.begin_step(step);
};
template <class R>
concept has_gradient_ready = requires(R& r, Step& step, Parameter& p) {
  r.gradient_ready(step, p);
};
template <class R>
concept has_before_update = requires(R& r, Step& step) {
  r.before_update(step);
};
template <class R>
concept has_update = requires(R& r, Step& step, Parameter& p, NextUpdate next) {
  r.update(step, p, next);
};
template <class R>
concept has_after_update = requires(R& r, Step& step) {
  r.after_update(step);
};

template <class R>
concept has_hook =
    has_begin_step<R> || has_gradient_ready<R> || has_before_update<R> || has_update<R> || has_after_update<R>;

/// Names that clash with hooks of the same name in a sibling base: a hook that is there but cannot be called shows.
struct HookNames {
  int begin_step, gradient_ready, before_update, update, after_update;
};
template <class R>
struct HookProbe : R, HookNames {};

template <class R>
concept names_begin_step = !requires {
  &HookProbe<R>::begin_step;
};
template <class R>
concept names_gradient_ready = !requires {
  &HookProbe<R>::gradient_ready;
};
template <class R>
concept names_before_update = !requires {
  &HookProbe<R>::before_update;
};
template <class R>
concept names_update = !requires {
  &HookProbe<R>::update;
};
template <class R>
concept names_after_update = !requires {
  &HookProbe<R>::after_update;
};

template <class P>
constexpr Phase phase_of = Phase::user;
template <class P>
requires requires { P::phase; }
constexpr Phase phase_of<P> = P::phase;

/// Settings that only the trainer reads (FuseAllReduce) have no hook; they say so.
template <class P>
concept settings_only = requires {
  requires P::settings_only;
};

template <class P>
constexpr bool replaces_reduction = false;
template <class P>
requires requires { P::replaces_reduction; }
constexpr bool replaces_reduction<P> = P::replaces_reduction;

template <class P>
constexpr bool parameters_differ = false;
template <class P>
requires requires { P::parameters_differ; }
constexpr bool parameters_differ<P> = P::parameters_differ;

/// Policies that carry out the whole update themselves and never call `next`: the optimizer then keeps no state.
template <class P>
constexpr bool replaces_update = false;
template <class P>
requires requires { P::replaces_update; }
constexpr bool replaces_update<P> = P::replaces_update;

template <class P>
struct kind_of {
  using type = P;
};
template <class P>
requires requires { typename P::kind; }
struct kind_of<P> {
  using type = typename P::kind;
};

}  // namespace detail

/// Whether two policies are of one kind: the same type, or made from one template (`GradientMerge<2>`, `<4>`).
template <class P, class Q>
constexpr bool same_kind = std::is_same_v<typename detail::kind_of<P>::type, typename detail::kind_of<Q>::type>;

}  // namespace fleet
