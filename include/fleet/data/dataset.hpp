#pragma once
#include <concepts>
#include <cstddef>
#include <span>

#include <fleet/data/batch.hpp>

namespace fleet::data {
namespace detail {

template <class D>
struct batch_of {
  using type = data::Batch;
};
template <class D>
requires requires { typename D::Batch; }
struct batch_of<D> {
  using type = typename D::Batch;
};

}  // namespace detail

/// What a dataset fills: its own nested type `Batch` (default-constructible), or else data::Batch.
template <class D>
using batch_t = typename detail::batch_of<D>::type;

/// Any type with these two members is a dataset. `size()` is the number of samples and stays the same; `fill(batch,
/// items)` puts the samples with these indices, in this order, into a batch that may hold an earlier one. A loader
/// calls `fill` from a thread of its own, one call at a time for each loop; what it throws reaches the loop.
template <class D>
concept Dataset = std::default_initializable<batch_t<D>> &&
    requires(D const& dataset, batch_t<D>& batch, std::span<std::size_t const> items) {
  { dataset.size() } -> std::convertible_to<std::size_t>;
  dataset.fill(batch, items);
};

}  // namespace fleet::data
