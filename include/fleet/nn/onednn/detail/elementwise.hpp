#pragma once
#include <cstddef>

#include <fleet/nn/onednn/detail/lowering.hpp>

namespace fleet::nn::onednn::detail {

/// gradient *= f'(x), told from result = f(x).
void activation_backward(Activation activation, float const* result, float* gradient, std::size_t count);
/// The same for rows, while their sum is taken: sums[c] = sum over the rows of the new gradient; `sums` may be null.
void activation_backward(Activation activation, float const* result, float* gradient, float* sums, std::size_t rows,
                         std::size_t columns);

}  // namespace fleet::nn::onednn::detail

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/nn/onednn/detail/elementwise_impl.hpp>  // IWYU pragma: export
#endif
