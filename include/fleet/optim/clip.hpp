#pragma once
#include <cmath>
#include <cstdint>
#include <span>

#include <fleet/core/vectorize.hpp>
#include <fleet/tensor/parameter.hpp>

// Norms and clipping. Sums run in double precision in an order that depends on the sizes alone, so that ranks with
// equal gradients get equal bits. A norm that is infinite or not a number is returned as such.
namespace fleet::optim {
namespace detail {

/// Adds up squares, in eight sums side by side.
struct SquareSum {
  using Sums = double __attribute__((vector_size(32)));

  void operator()(Floats const& x) {
    Sums const low = __builtin_convertvector(__builtin_shufflevector(x, x, 0, 1, 2, 3), Sums);
    Sums const high = __builtin_convertvector(__builtin_shufflevector(x, x, 4, 5, 6, 7), Sums);
    sums[0] += low * low;
    sums[1] += high * high;
  }
  double total() const {
    Sums const both = sums[0] + sums[1];
    return (both[0] + both[1]) + (both[2] + both[3]);
  }

  Sums sums[2] = {};
};

}  // namespace detail

inline double sum_of_squares(std::span<float const> elements) {
  detail::SquareSum squares;
  for_each_vector(elements.size(), squares, elements.data());
  return squares.total();
}

/// The Euclidean norm of one tensor.
inline double norm(std::span<float const> elements) { return std::sqrt(sum_of_squares(elements)); }

/// The Euclidean norm of all gradients together; of those whose `active` flag is not 0, if the list is not empty.
inline double global_norm(std::span<Parameter const> parameters, std::span<std::uint8_t const> active = {}) {
  double sum = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (active.empty() || active[i]) sum += sum_of_squares(parameters[i].gradient);
  return std::sqrt(sum);
}

/// What a gradient of this norm is multiplied by: limit / max(limit, norm). Not a number if the norm is none.
inline float clip_factor(double norm, float limit) {
  auto const wide = static_cast<double>(limit);
  return norm <= wide ? 1.0f : static_cast<float>(wide / norm);
}

/// Multiplies each element. By 1 it does nothing, without a pass over memory.
inline void scale(std::span<float> elements, float factor) {
  if (factor != 1)
    for_each_vector(
        elements.size(), [factor](auto& x) { x *= factor; }, elements.data());
}

/// Brings each element into [minimum, maximum]; one that is not a number stays so.
inline void clip_value(std::span<float> elements, float minimum, float maximum) {
  for_each_vector(
      elements.size(),
      [minimum, maximum](auto& x) {
        Floats const low = Floats{} + minimum, high = Floats{} + maximum;
        x = x < low ? low : (x > high ? high : x);
      },
      elements.data());
}

}  // namespace fleet::optim
