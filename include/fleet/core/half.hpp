#pragma once
#include <bit>
#include <cstdint>

namespace fleet {
namespace detail {

/// IEEE 754 binary32 to binary16: to nearest, ties to even; subnormals kept; too large gives infinity.
constexpr std::uint16_t narrow_float16(float value) {
  auto const bits = std::bit_cast<std::uint32_t>(value);
  auto const sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  std::uint32_t const magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);
  if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);
  if (magnitude < 0x38800000u) {  // a subnormal, or zero
    if (magnitude < 0x33000000u) return sign;
    std::uint32_t const shift = 126u - (magnitude >> 23);
    std::uint32_t const mantissa = (magnitude & 0x7fffffu) | 0x800000u;
    std::uint32_t const half = 1u << (shift - 1), rest = mantissa & ((1u << shift) - 1);
    std::uint32_t result = mantissa >> shift;
    result += (rest > half || (rest == half && (result & 1u))) ? 1u : 0u;
    return static_cast<std::uint16_t>(sign | result);
  }
  std::uint32_t const rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u;
  return static_cast<std::uint16_t>(sign | (rounded >> 13));
}

constexpr float widen_float16(std::uint16_t half) {
  std::uint32_t const sign = (half & 0x8000u) * 0x10000u;
  std::uint32_t const exponent = (half >> 10) & 0x1fu, mantissa = half & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (mantissa << 13));
  float const magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  return sign ? -magnitude : magnitude;
}

constexpr std::uint16_t narrow_bfloat16(float value) {
  auto const bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

constexpr float widen_bfloat16(std::uint16_t half) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
}

}  // namespace detail

/// IEEE 754 binary16: 10 bits of mantissa, up to 65,504.
struct float16 {
  std::uint16_t bits = 0;
  constexpr float16() = default;
  constexpr explicit float16(float value) : bits(detail::narrow_float16(value)) {}
  constexpr explicit operator float() const { return detail::widen_float16(bits); }
  constexpr bool operator==(float16 const& other) const {
    return static_cast<float>(*this) == static_cast<float>(other);
  }
};

/// The upper half of a float: 7 bits of mantissa, the range of a float.
struct bfloat16 {
  std::uint16_t bits = 0;
  constexpr bfloat16() = default;
  constexpr explicit bfloat16(float value) : bits(detail::narrow_bfloat16(value)) {}
  constexpr explicit operator float() const { return detail::widen_bfloat16(bits); }
  constexpr bool operator==(bfloat16 const& other) const {
    return static_cast<float>(*this) == static_cast<float>(other);
  }
};

}  // namespace fleet
