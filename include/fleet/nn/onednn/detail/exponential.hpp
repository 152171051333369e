#pragma once
#include <cstdint>

#include <fleet/core/vectorize.hpp>

namespace fleet::nn::onednn::detail {

/// Replaces each element by its exponential, to about one unit in the last place. Below -87 it gives exp(-87), above
/// 88 exp(88); NaN stays NaN.
[[gnu::always_inline]] inline void take_exponential(Floats& x) {
  using Bits = std::int32_t __attribute__((vector_size(sizeof(Floats))));
  Floats const least = Floats{} - 87.0f, most = Floats{} + 88.0f;
  x = x < least ? least : x;
  x = x > most ? most : x;
  // exp(x) = 2^n exp(r), n the integer nearest to x / ln 2: adding 1.5 * 2^23 rounds, and leaves n in the last bits.
  Floats const shifted = x * 1.44269504f + 12582912.0f;
  Floats const n = shifted - 12582912.0f;
  Floats const r = x - n * 0.693359375f + n * 2.12194440e-4f;
  Floats p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1;
  Bits const power = (((Bits)shifted) << 23) + 0x3f800000;
  x = p * (Floats)power;
}

}  // namespace fleet::nn::onednn::detail
