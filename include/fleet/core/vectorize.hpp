#pragma once
#include <cmath>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace fleet {

/// Eight floats that are computed with at once: `+ - * /`, comparisons and `?:` act on each of them. Pass it by
/// reference only: how it travels by value depends on the processor that a function is compiled for.
using Floats = float __attribute__((vector_size(32)));
inline constexpr std::size_t float_lanes = sizeof(Floats) / sizeof(float);

/// Replaces each element by its square root, rounded as std::sqrt does.
[[gnu::always_inline]] inline void take_root(Floats& x) {
#ifdef __SSE2__
  __m128 const low = _mm_sqrt_ps(__builtin_shufflevector(x, x, 0, 1, 2, 3));
  __m128 const high = _mm_sqrt_ps(__builtin_shufflevector(x, x, 4, 5, 6, 7));
  x = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
#else
  for (std::size_t i = 0; i < float_lanes; ++i) x[i] = std::sqrt(x[i]);
#endif
}

namespace detail {

/// Loads the next `bytes` of each array (the rest is 0), calls, and stores what belongs to arrays that are not const.
template <class Body, std::size_t... Index, class... Arrays>
[[gnu::always_inline]] inline void apply_to_lanes(Body& body, std::size_t bytes, std::index_sequence<Index...>,
                                                  Arrays*... arrays) {
  Floats lanes[sizeof...(Arrays)] = {};
  (std::memcpy(&lanes[Index], arrays, bytes), ...);
  body(lanes[Index]...);
  auto const store = [bytes](auto* array, Floats const& from) __attribute__((always_inline)) {
    if constexpr (!std::is_const_v<std::remove_pointer_t<decltype(array)>>) std::memcpy(array, &from, bytes);
  };
  (store(arrays, lanes[Index]), ...);
}

template <class Body, class... Arrays>
[[gnu::always_inline]] inline void loop_over_lanes(std::size_t count, Body& caller, Arrays*... arrays) {
  constexpr std::index_sequence_for<Arrays...> each;
  Body body = caller;  // of its own, so that what it holds stays in registers
  std::size_t i = 0;
  for (; i + float_lanes <= count; i += float_lanes) apply_to_lanes(body, sizeof(Floats), each, (arrays + i)...);
  if (i < count) apply_to_lanes(body, (count - i) * sizeof(float), each, (arrays + i)...);
  if constexpr (std::is_copy_assignable_v<Body>) caller = body;
}

template <class Body, class... Arrays>
[[gnu::flatten]] void loop_plain(std::size_t count, Body& body, Arrays*... arrays) {
  loop_over_lanes(count, body, arrays...);
}

#if defined(__x86_64__) && !defined(__AVX2__)
/// The same code, compiled for processors with AVX2. Without FMA, so that both give the same bits.
template <class Body, class... Arrays>
[[gnu::target("avx2"), gnu::flatten]] void loop_avx2(std::size_t count, Body& body, Arrays*... arrays) {
  loop_over_lanes(count, body, arrays...);
}
#endif

}  // namespace detail

/// Calls `body(Floats&...)` for each eight elements of the arrays, which all have `count` elements, with what they
/// hold; an array of `float` then takes what the body left, one of `float const` is only read. The last call may
/// see zeros beyond the end. One pass over memory with the widest instructions that the processor at hand has, at
/// every level of optimisation; the bits of the result do not depend on the processor nor on where an element lies.
/// A body may be an object that adds up over the calls: it is given back as the last call left it.
///
///   for_each_vector(n, [=](auto& g, auto& p) { p -= rate * g; }, gradient, value);
template <class Body, class... Arrays>
void for_each_vector(std::size_t count, Body&& body, Arrays*... arrays) {
  static_assert((std::is_same_v<std::remove_const_t<Arrays>, float> && ...), "fleet: for_each_vector takes floats");
#if defined(__x86_64__) && !defined(__AVX2__)
  static bool const has_avx2 = __builtin_cpu_supports("avx2");
  if (has_avx2) return detail::loop_avx2(count, body, arrays...);
#endif
  detail::loop_plain(count, body, arrays...);
}

}  // namespace fleet
