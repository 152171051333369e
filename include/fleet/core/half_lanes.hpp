#pragma once
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <fleet/core/half.hpp>
#include <fleet/core/vectorize.hpp>

namespace fleet {

/// The bits of eight half numbers, as many as `Floats` holds. As with those: pass them by reference only.
using Halves = std::uint16_t __attribute__((vector_size(16)));

namespace detail {

using Words = std::uint32_t __attribute__((vector_size(32)));

[[gnu::always_inline]] inline void choose(Words& out, Words const& mask, Words const& yes, Words const& no) {
  out = (yes & mask) | (no & ~mask);
}

/// All bits where `a < b`. Both are below 2^31.
[[gnu::always_inline]] inline void less(Words& mask, Words const& a, Words const& b) {
  using Signed = std::int32_t __attribute__((vector_size(32)));
  auto const result = (Signed)a < (Signed)b;
  std::memcpy(&mask, &result, sizeof mask);
}

/// Rounds floats to bfloat16, which their upper halves then hold.
[[gnu::always_inline]] inline void round_bfloat16(Words& bits) {
  Words is_number;
  less(is_number, bits & 0x7fffffffu, Words{} + 0x7f800001u);
  choose(bits, is_number, bits + 0x7fffu + ((bits >> 16) & 1u), bits | 0x400000u);
}

}  // namespace detail

/// Eight half numbers (float16 or bfloat16) to floats: the same bits as one by one.
template <class Half>
[[gnu::always_inline]] inline void widen(Floats& out, Halves const& in) {
  using detail::Words;
  Words const half = __builtin_convertvector(in, Words);
  Words bits = half << 16;
  if constexpr (std::is_same_v<Half, float16>) {
    Words const sign = (half & 0x8000u) << 16, magnitude = (half & 0x7fffu) << 13;
    // Below 2^-14 the exponent is that of 2^-14, and there is no leading 1: put one in, and take it off again.
    Words small = magnitude | 0x38800000u;
    Floats value, least;
    Words const least_bits = Words{} + 0x38800000u;
    std::memcpy(&value, &small, sizeof value);
    std::memcpy(&least, &least_bits, sizeof least);
    value -= least;
    std::memcpy(&small, &value, sizeof small);
    Words is_small, is_finite;
    detail::less(is_small, magnitude, Words{} + 0x00800000u);
    detail::less(is_finite, magnitude, Words{} + 0x0f800000u);
    Words const large = magnitude + 0x38000000u + (~is_finite & 0x38000000u);
    detail::choose(bits, is_small, small, large);
    bits |= sign;
  }
  std::memcpy(&out, &bits, sizeof out);
}

/// Eight floats to half numbers: the same bits as one by one.
template <class Half>
[[gnu::always_inline]] inline void narrow(Halves& out, Floats const& in) {
  using detail::Words;
  Words bits;
  std::memcpy(&bits, &in, sizeof bits);
  if constexpr (std::is_same_v<Half, float16>) {
    Words const magnitude = bits & 0x7fffffffu, sign = (bits >> 16) & 0x8000u;
    Words const rounded = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
    // Below 2^-14: added to 0.5, the number is rounded to the last bit that a half number has there.
    Floats value, one_half = Floats{} + 0.5f;
    std::memcpy(&value, &magnitude, sizeof value);
    value += one_half;
    Words small;
    std::memcpy(&small, &value, sizeof small);
    small -= 0x3f000000u;
    Words is_number, is_small, fits, result;
    detail::less(is_number, magnitude, Words{} + 0x7f800001u);
    detail::less(is_small, magnitude, Words{} + 0x38800000u);
    detail::less(fits, magnitude, Words{} + 0x477ff000u);
    detail::choose(result, is_small, small, rounded);
    detail::choose(result, fits, result, Words{} + 0x7c00u);
    detail::choose(result, is_number, result, Words{} + 0x7e00u);
    bits = result | sign;
  } else {
    detail::round_bfloat16(bits);
    bits >>= 16;
  }
  std::uint16_t __attribute__((vector_size(32))) parts;
  std::memcpy(&parts, &bits, sizeof parts);
  out = __builtin_shufflevector(parts, parts, 0, 2, 4, 6, 8, 10, 12, 14);  // the lower half of each word
}

}  // namespace fleet
