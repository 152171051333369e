#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstring>

#include <fleet/core/half.hpp>
#include <fleet/core/half_lanes.hpp>

namespace {

using fleet::bfloat16;
using fleet::float16;
using fleet::Floats;
using fleet::Halves;

template <class Half>
void every_half_is_widened_as_alone() {
  for (std::uint32_t first = 0; first < 0x10000u; first += 8) {
    Halves in{};
    for (std::uint32_t i = 0; i < 8; ++i) in[i] = static_cast<std::uint16_t>(first + i);
    Floats out;
    fleet::widen<Half>(out, in);
    for (std::uint32_t i = 0; i < 8; ++i) {
      Half one;
      one.bits = in[i];
      ASSERT_EQ(std::bit_cast<std::uint32_t>(float{out[i]}), std::bit_cast<std::uint32_t>(static_cast<float>(one)))
          << in[i];
    }
  }
}

TEST(HalfLanes, every_half_is_widened_as_alone) {
  every_half_is_widened_as_alone<float16>();
  every_half_is_widened_as_alone<bfloat16>();
}

template <class Half>
void floats_are_narrowed_as_alone() {
  // All signs and exponents, with mantissas at and about what rounds, and many between.
  std::uint32_t mixed = 1;
  for (std::uint32_t top = 0; top < 0x200u; ++top) {
    for (std::uint32_t round = 0; round < 400; ++round) {
      Floats in{};
      std::uint32_t bits[8];
      for (auto& one : bits) {
        mixed = mixed * 1664525u + 1013904223u;
        std::uint32_t mantissa = (mixed >> 8) & 0x7fffffu;
        if (round % 4 == 1) mantissa &= 0x7fe000u;
        if (round % 4 == 2) mantissa = (mantissa & 0x7f0000u) | 0x1000u;
        if (round % 4 == 3) mantissa = (mantissa & 0x7f0000u) | 0x8000u | (mixed & 1u);
        one = (top << 23) | mantissa;
      }
      std::memcpy(&in, bits, sizeof in);
      Halves out;
      fleet::narrow<Half>(out, in);
      for (std::uint32_t i = 0; i < 8; ++i)
        ASSERT_EQ(out[i], Half{std::bit_cast<float>(bits[i])}.bits) << std::hex << bits[i];
    }
  }
}

TEST(HalfLanes, floats_are_narrowed_as_alone) {
  floats_are_narrowed_as_alone<float16>();
  floats_are_narrowed_as_alone<bfloat16>();
}

}  // namespace
