#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include <fleet/comm/fold.hpp>
#include <fleet/core/dtype.hpp>

namespace {

using fleet::DType;
using fleet::comm::ReduceOp;
using fleet::comm::Reduction;

template <class T>
T apply(ReduceOp op, T a, T b) {
  if constexpr (sizeof(T) == 2) {
    return T{apply(op, static_cast<float>(a), static_cast<float>(b))};
  } else {
    using Lane = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;
    if (op == ReduceOp::sum) return static_cast<T>(static_cast<Lane>(a) + static_cast<Lane>(b));
    if (op == ReduceOp::prod) return static_cast<T>(static_cast<Lane>(a) * static_cast<Lane>(b));
    if (op == ReduceOp::max) return a < b || b != b ? b : a;
    return b < a || b != b ? b : a;
  }
}

/// Numbers of any kind: all bits are random in some, small numbers in others.
std::vector<std::byte> any_bytes(std::size_t count, std::uint32_t seed) {
  std::vector<std::byte> out(count);
  for (auto& one : out) {
    seed = seed * 1664525u + 1013904223u;
    one = std::byte(seed >> 24);
  }
  return out;
}

template <class T>
T at(std::vector<std::byte> const& bytes, std::size_t i) {
  T out;
  std::memcpy(&out, bytes.data() + i * sizeof(T), sizeof(T));
  return out;
}

template <class T>
bool same(T a, T b) {
  if (a != a && b != b) return true;  // which of two NaNs comes out is the processor's choice
  return std::memcmp(&a, &b, sizeof a) == 0;
}

TEST(Fold, gives_what_one_by_one_gives_for_any_bits_and_length) {
  for (int type = 0; type <= static_cast<int>(DType::uint64); ++type) {
    fleet::with_type(static_cast<DType>(type), [&](auto zero) {
      using T = decltype(zero);
      for (auto op : {ReduceOp::sum, ReduceOp::max, ReduceOp::min, ReduceOp::prod}) {
        Reduction const reduction{fleet::dtype_of<T>, op};
        for (std::size_t count = 0; count < 700; count = count < 70 ? count + 1 : count + 97) {
          auto const left = any_bytes(count * sizeof(T), 1 + static_cast<std::uint32_t>(count));
          auto const right = any_bytes(count * sizeof(T), 1000 + static_cast<std::uint32_t>(count));
          auto out = left, in_place = right;
          reduction.pair(out.data(), out.data(), right.data(), count);
          reduction.pair(in_place.data(), left.data(), in_place.data(), count);
          std::vector<std::byte> wide(count * reduction.wide), rounded(count * sizeof(T));
          reduction.load(wide.data(), left.data(), count);
          reduction.accumulate(wide.data(), right.data(), count);
          reduction.store(rounded.data(), wide.data(), count);
          for (std::size_t i = 0; i < count; ++i) {
            T const one = apply(op, at<T>(left, i), at<T>(right, i));
            ASSERT_TRUE(same(at<T>(out, i), one)) << type << " " << static_cast<int>(op) << " " << i;
            ASSERT_TRUE(same(at<T>(in_place, i), one));
            ASSERT_TRUE(same(at<T>(rounded, i), one));
          }
        }
      }
    });
  }
}

TEST(Fold, sums_of_half_types_are_rounded_once) {
  Reduction const reduction{DType::bfloat16, ReduceOp::sum};
  std::vector<fleet::bfloat16> const one{fleet::bfloat16{256.0f}}, small{fleet::bfloat16{0.75f}};
  float sum = 0;
  auto* const wide = reinterpret_cast<std::byte*>(&sum);
  reduction.load(wide, reinterpret_cast<std::byte const*>(one.data()), 1);
  for (int i = 0; i < 4; ++i) reduction.accumulate(wide, reinterpret_cast<std::byte const*>(small.data()), 1);
  EXPECT_EQ(sum, 259.0f);
  fleet::bfloat16 out;
  reduction.store(reinterpret_cast<std::byte*>(&out), wide, 1);
  EXPECT_EQ(static_cast<float>(out), 260.0f);
}

}  // namespace
