#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <fleet/comm/call.hpp>
#include <fleet/comm/detail/fold_lanes.hpp>
#include <fleet/core/dtype.hpp>

namespace fleet::comm {

/// out[i] = left[i] op right[i] for `count` elements; `out` may be `left` or `right`. Of two ranks' data the one of
/// the lower rank stands left, so that the bits do not depend on who computes. NaN wins over numbers in max and min;
/// integers wrap.
using Fold = void (*)(std::byte* out, std::byte const* left, std::byte const* right, std::size_t count);

/// Half types to floats, exactly.
template <class Half>
void widen(float* out, std::byte const* in, std::size_t count) {
#if defined(__x86_64__)
  if (detail::has_avx2()) return detail::widen_avx2<Half>(out, in, count);
#endif
  detail::widen_plain<Half>(out, in, count);
}

/// Floats to a half type, to nearest even.
template <class Half>
void narrow(std::byte* out, float const* in, std::size_t count) {
#if defined(__x86_64__)
  if (detail::has_avx2()) return detail::narrow_avx2<Half>(out, in, count);
#endif
  detail::narrow_plain<Half>(out, in, count);
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
  Fold pair;                  ///< of two ranks' data, for a call that has no more: rounded once as well

  Reduction(DType type, ReduceOp op)
      : dtype(type),
        accumulator(size_of(type) == 2 && (op == ReduceOp::sum || op == ReduceOp::prod) ? DType::float32 : type),
        element(size_of(dtype)),
        wide(size_of(accumulator)),
        fold(fold_of(accumulator, op)),
        pair(fold_of(type, op)) {}

  bool in_place() const { return dtype == accumulator; }
  /// accumulators[i] = accumulators[i] op in[i], the latter of `dtype`.
  void accumulate(std::byte* accumulators, std::byte const* in, std::size_t count) const {
    if (in_place()) return fold(accumulators, accumulators, in, count);
    constexpr std::size_t at_once = 256;
    alignas(64) std::byte block[at_once * sizeof(float)];
    for (std::size_t done = 0; done < count; done += at_once) {
      std::size_t const now = std::min(at_once, count - done);
      load(block, in + done * element, now);
      fold(accumulators + done * wide, accumulators + done * wide, block, now);
    }
  }
  void load(std::byte* accumulators, std::byte const* in, std::size_t count) const {
    if (count == 0) return;
    auto* out = reinterpret_cast<float*>(accumulators);
    if (in_place())
      std::memcpy(accumulators, in, count * element);
    else if (dtype == DType::float16)
      widen<float16>(out, in, count);
    else
      widen<bfloat16>(out, in, count);
  }
  void store(std::byte* out, std::byte const* accumulators, std::size_t count) const {
    if (count == 0) return;
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
