#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <fleet/comm/call.hpp>
#include <fleet/core/half.hpp>
#include <fleet/core/half_lanes.hpp>
#include <fleet/core/vectorize.hpp>

namespace fleet::comm {

namespace detail {

inline bool has_avx2() {
#if defined(__x86_64__) && !defined(__AVX2__)
  static bool const has = __builtin_cpu_supports("avx2");
  return has;
#else
  return false;  // what is compiled anyway is as good
#endif
}

#if defined(__x86_64__)
inline bool has_float16() {
  static bool const has = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __builtin_cpu_supports("avx2") && __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
  }();
  return has;
}
#endif

template <ReduceOp op, class Vector>
[[gnu::always_inline]] inline void combine(Vector& a, Vector const& b) {
  if constexpr (op == ReduceOp::sum) a += b;
  if constexpr (op == ReduceOp::prod) a *= b;
  if constexpr (op == ReduceOp::max) a = ((a < b) | (b != b)) ? b : a;
  if constexpr (op == ReduceOp::min) a = ((b < a) | (b != b)) ? b : a;
}

/// Folds vectors of `width` bytes; the last one may hold less.
template <class T, ReduceOp op, std::size_t width>
[[gnu::always_inline]] inline void fold_lanes(std::byte* out, std::byte const* left, std::byte const* right,
                                              std::size_t count) {
  // Sums and products of signed integers are computed as unsigned ones, which may wrap.
  constexpr bool wraps = std::is_signed_v<T> && std::is_integral_v<T> && (op == ReduceOp::sum || op == ReduceOp::prod);
  using Lane = typename std::conditional_t<wraps, std::make_unsigned<T>, std::type_identity<T>>::type;
  using Vector [[gnu::vector_size(width)]] = Lane;
  auto const step = [&](std::size_t offset, std::size_t bytes) __attribute__((always_inline)) {
    Vector a{}, b{};
    std::memcpy(&a, left + offset, bytes);
    std::memcpy(&b, right + offset, bytes);
    combine<op>(a, b);
    std::memcpy(out + offset, &a, bytes);
  };
  std::size_t const bytes = count * sizeof(T);
  std::size_t offset = 0;
  for (; offset + width <= bytes; offset += width) step(offset, width);
  if (offset < bytes) step(offset, bytes - offset);
}

/// Half types are computed with as floats, and rounded.
template <class Half, ReduceOp op>
[[gnu::always_inline]] inline void fold_half_lanes(std::byte* out, std::byte const* left, std::byte const* right,
                                                   std::size_t count) {
  // Two in a word: of bfloat16 they are two floats but for the bits that are to be rounded off.
  using Words = std::uint32_t __attribute__((vector_size(32)));
  auto const fold_floats = [](Words & x, Words const& y) __attribute__((always_inline)) {
    Floats a, b;
    std::memcpy(&a, &x, sizeof a);
    std::memcpy(&b, &y, sizeof b);
    combine<op>(a, b);
    std::memcpy(&x, &a, sizeof x);
    fleet::detail::round_bfloat16(x);
  };
  auto const step = [&](std::size_t offset, std::size_t bytes) __attribute__((always_inline)) {
    if constexpr (std::is_same_v<Half, bfloat16>) {
      Words x{}, y{};
      std::memcpy(&x, left + offset, bytes);
      std::memcpy(&y, right + offset, bytes);
      Words low = x << 16, high = x & 0xffff0000u;
      fold_floats(low, y << 16);
      fold_floats(high, y & 0xffff0000u);
      x = (low >> 16) | (high & 0xffff0000u);
      std::memcpy(out + offset, &x, bytes);
    } else {
      Halves x{}, y{};
      std::memcpy(&x, left + offset, bytes);
      std::memcpy(&y, right + offset, bytes);
      Floats a, b;
      fleet::widen<Half>(a, x);
      fleet::widen<Half>(b, y);
      combine<op>(a, b);
      fleet::narrow<Half>(x, a);
      std::memcpy(out + offset, &x, bytes);
    }
  };
  constexpr std::size_t width = std::is_same_v<Half, bfloat16> ? sizeof(Words) : sizeof(Halves);
  std::size_t const bytes = count * sizeof(Half);
  std::size_t offset = 0;
  for (; offset + width <= bytes; offset += width) step(offset, width);
  if (offset < bytes) step(offset, bytes - offset);
}

template <class Half>
[[gnu::always_inline]] inline void widen_lanes(float* out, std::byte const* in, std::size_t count) {
  auto const step = [&](std::size_t first, std::size_t lanes) __attribute__((always_inline)) {
    Halves half{};
    Floats wide;
    std::memcpy(&half, in + first * sizeof(Half), lanes * sizeof(Half));
    fleet::widen<Half>(wide, half);
    std::memcpy(out + first, &wide, lanes * sizeof(float));
  };
  std::size_t first = 0;
  for (; first + float_lanes <= count; first += float_lanes) step(first, float_lanes);
  if (first < count) step(first, count - first);
}

template <class Half>
[[gnu::always_inline]] inline void narrow_lanes(std::byte* out, float const* in, std::size_t count) {
  auto const step = [&](std::size_t first, std::size_t lanes) __attribute__((always_inline)) {
    Floats wide{};
    Halves half;
    std::memcpy(&wide, in + first, lanes * sizeof(float));
    fleet::narrow<Half>(half, wide);
    std::memcpy(out + first * sizeof(Half), &half, lanes * sizeof(Half));
  };
  std::size_t first = 0;
  for (; first + float_lanes <= count; first += float_lanes) step(first, float_lanes);
  if (first < count) step(first, count - first);
}

// Each of these is compiled twice: for what the program is compiled for, and for processors with AVX2. Without FMA, so
// that both give the same bits.
template <class T, ReduceOp op>
[[gnu::flatten]] void fold_plain(std::byte* out, std::byte const* left, std::byte const* right, std::size_t count) {
  if constexpr (sizeof(T) == 2)
    fold_half_lanes<T, op>(out, left, right, count);
  else
    fold_lanes<T, op, 16>(out, left, right, count);
}
template <class Half>
[[gnu::flatten]] void widen_plain(float* out, std::byte const* in, std::size_t count) {
  widen_lanes<Half>(out, in, count);
}
template <class Half>
[[gnu::flatten]] void narrow_plain(std::byte* out, float const* in, std::size_t count) {
  narrow_lanes<Half>(out, in, count);
}

#if defined(__x86_64__)
template <class T, ReduceOp op>
[[gnu::target("avx2"), gnu::flatten]] void fold_avx2(std::byte* out, std::byte const* left, std::byte const* right,
                                                     std::size_t count) {
  if constexpr (sizeof(T) == 2)
    fold_half_lanes<T, op>(out, left, right, count);
  else
    fold_lanes<T, op, 32>(out, left, right, count);
}
/// With the processor's own conversions, which treat all numbers alike; a NaN becomes that of the others.
template <ReduceOp op>
[[gnu::target("avx2,f16c")]] void fold_float16(std::byte* out, std::byte const* left, std::byte const* right,
                                               std::size_t count) {
  using Lanes = short __attribute__((vector_size(16)));
  for (std::size_t done = 0; done < count; done += float_lanes) {
    std::size_t const bytes = std::min(float_lanes, count - done) * sizeof(float16);
    auto const offset = done * sizeof(float16);
    Lanes x{}, y{};
    if (bytes == sizeof x) {
      std::memcpy(&x, left + offset, sizeof x);
      std::memcpy(&y, right + offset, sizeof y);
    } else {
      std::memcpy(&x, left + offset, bytes);
      std::memcpy(&y, right + offset, bytes);
    }
    Floats a = __builtin_ia32_vcvtph2ps256(x);
    Floats const b = __builtin_ia32_vcvtph2ps256(y);
    combine<op>(a, b);
    x = __builtin_ia32_vcvtps2ph256(a, 0);
    Lanes const is_nan = (x & 0x7fff) > 0x7c00;
    x = (x & ~is_nan) | (((x & static_cast<short>(-0x8000)) | 0x7e00) & is_nan);
    if (bytes == sizeof x)
      std::memcpy(out + offset, &x, sizeof x);
    else
      std::memcpy(out + offset, &x, bytes);
  }
}
template <class Half>
[[gnu::target("avx2"), gnu::flatten]] void widen_avx2(float* out, std::byte const* in, std::size_t count) {
  widen_lanes<Half>(out, in, count);
}
template <class Half>
[[gnu::target("avx2"), gnu::flatten]] void narrow_avx2(std::byte* out, float const* in, std::size_t count) {
  narrow_lanes<Half>(out, in, count);
}
#endif

template <class T, ReduceOp op>
auto fold_for() {
#if defined(__x86_64__)
  if constexpr (std::is_same_v<T, float16>)
    if (has_float16()) return fold_float16<op>;
  if (has_avx2()) return fold_avx2<T, op>;
#endif
  return fold_plain<T, op>;
}

}  // namespace detail

}  // namespace fleet::comm
