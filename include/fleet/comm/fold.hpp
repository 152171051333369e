#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <fleet/comm/call.hpp>
#include <fleet/core/dtype.hpp>

namespace fleet::comm {

/// out[i] = left[i] op right[i] for `count` elements; `out` may be `left` or `right`. Of two ranks' data the one of
/// the lower rank stands left, so that the bits do not depend on who computes. NaN wins over numbers in max and min;
/// integers wrap.
using Fold = void (*)(std::byte* out, std::byte const* left, std::byte const* right, std::size_t count);

namespace detail {

template <ReduceOp op, class Vector>
[[gnu::always_inline]] inline void combine(Vector& a, Vector const& b) {
  if constexpr (op == ReduceOp::sum) a += b;
  if constexpr (op == ReduceOp::prod) a *= b;
  if constexpr (op == ReduceOp::max) a = ((a < b) | (b != b)) ? b : a;
  if constexpr (op == ReduceOp::min) a = ((b < a) | (b != b)) ? b : a;
}

template <class T, ReduceOp op>
void fold_numbers(std::byte* out, std::byte const* left, std::byte const* right, std::size_t count) {
  // Sums and products of signed integers are computed as unsigned ones, which may wrap.
  constexpr bool wraps = std::is_signed_v<T> && std::is_integral_v<T> && (op == ReduceOp::sum || op == ReduceOp::prod);
  using Lane = typename std::conditional_t<wraps, std::make_unsigned<T>, std::type_identity<T>>::type;
  using Vector [[gnu::vector_size(64)]] = Lane;
  auto const step = [&](std::size_t offset, std::size_t bytes) {
    Vector a{}, b{};
    std::memcpy(&a, left + offset, bytes);
    std::memcpy(&b, right + offset, bytes);
    combine<op>(a, b);
    std::memcpy(out + offset, &a, bytes);
  };
  std::size_t const bytes = count * sizeof(T);
  std::size_t offset = 0;
  for (; offset + sizeof(Vector) <= bytes; offset += sizeof(Vector)) step(offset, sizeof(Vector));
  if (offset < bytes) step(offset, bytes - offset);
}

inline constexpr std::size_t half_block = 256;

template <class Half, ReduceOp op>
void fold_halves(std::byte* out, std::byte const* left, std::byte const* right, std::size_t count);

template <class T, ReduceOp op>
Fold constexpr fold_for() {
  if constexpr (sizeof(T) == 2)
    return fold_halves<T, op>;
  else
    return fold_numbers<T, op>;
}

}  // namespace detail

/// Half types to floats, exactly.
template <class Half>
void widen(float* out, std::byte const* in, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    Half half;
    std::memcpy(&half, in + i * sizeof half, sizeof half);
    out[i] = static_cast<float>(half);
  }
}

/// Floats to a half type, to nearest even.
template <class Half>
void narrow(std::byte* out, float const* in, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    Half const half{in[i]};
    std::memcpy(out + i * sizeof half, &half, sizeof half);
  }
}

template <class Half, ReduceOp op>
void detail::fold_halves(std::byte* out, std::byte const* left, std::byte const* right, std::size_t count) {
  alignas(64) float a[half_block], b[half_block];
  for (std::size_t done = 0; done < count; done += half_block) {
    std::size_t const now = std::min(half_block, count - done), offset = done * sizeof(Half);
    widen<Half>(a, left + offset, now);
    widen<Half>(b, right + offset, now);
    auto* bytes = reinterpret_cast<std::byte*>(a);
    fold_numbers<float, op>(bytes, bytes, reinterpret_cast<std::byte*>(b), now);
    narrow<Half>(out + offset, a, now);
  }
}

inline Fold fold_of(DType dtype, ReduceOp op) {
  return with_type(dtype, [op](auto zero) -> Fold {
    using T = decltype(zero);
    switch (op) {
      case ReduceOp::sum:
        return detail::fold_for<T, ReduceOp::sum>();
      case ReduceOp::max:
        return detail::fold_for<T, ReduceOp::max>();
      case ReduceOp::min:
        return detail::fold_for<T, ReduceOp::min>();
      case ReduceOp::prod:
        break;
    }
    return detail::fold_for<T, ReduceOp::prod>();
  });
}

/// How a call reduces. Sums and products of half types are accumulated in float, `accumulator`, and rounded once;
/// for all else the accumulator is the type itself.
struct Reduction {
  DType dtype, accumulator;
  std::size_t element, wide;  ///< bytes of one element, and of one in the accumulator
  Fold fold;                  ///< of accumulators

  Reduction(DType type, ReduceOp op)
      : dtype(type),
        accumulator(size_of(type) == 2 && (op == ReduceOp::sum || op == ReduceOp::prod) ? DType::float32 : type),
        element(size_of(dtype)),
        wide(size_of(accumulator)),
        fold(fold_of(accumulator, op)) {}

  bool in_place() const { return dtype == accumulator; }
  /// accumulators[i] = accumulators[i] op in[i], the latter of `dtype`.
  void accumulate(std::byte* accumulators, std::byte const* in, std::size_t count) const {
    if (in_place()) return fold(accumulators, accumulators, in, count);
    alignas(64) std::byte block[detail::half_block * sizeof(float)];
    for (std::size_t done = 0; done < count; done += detail::half_block) {
      std::size_t const now = std::min(detail::half_block, count - done);
      load(block, in + done * element, now);
      fold(accumulators + done * wide, accumulators + done * wide, block, now);
    }
  }
  void load(std::byte* accumulators, std::byte const* in, std::size_t count) const {
    auto* out = reinterpret_cast<float*>(accumulators);
    if (in_place())
      std::memcpy(accumulators, in, count * element);
    else if (dtype == DType::float16)
      widen<float16>(out, in, count);
    else
      widen<bfloat16>(out, in, count);
  }
  void store(std::byte* out, std::byte const* accumulators, std::size_t count) const {
    auto const* in = reinterpret_cast<float const*>(accumulators);
    if (in_place())
      std::memcpy(out, accumulators, count * element);
    else if (dtype == DType::float16)
      narrow<float16>(out, in, count);
    else
      narrow<bfloat16>(out, in, count);
  }
};

}  // namespace fleet::comm
