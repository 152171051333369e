#pragma once
#include <cstddef>
#include <span>

#include <fleet/comm/detail/parts.hpp>
#include <fleet/comm/transport.hpp>

namespace fleet::comm {

/// Part r of `input` goes to rank r, in N - 1 pairwise exchanges.
inline void all_to_all(Transport& transport, std::span<std::byte const> input, std::span<std::byte> output) {
  int const size = transport.size(), rank = transport.rank();
  std::size_t const bytes = input.size() / static_cast<std::size_t>(size);
  detail::copy(detail::part(output, rank, bytes), detail::part(input, rank, bytes));
  for (int step = 1; step < size; ++step) {
    int const to = (rank + step) % size, from = (rank + size - step) % size;
    transport.exchange(to, detail::part(input, to, bytes), from, detail::part(output, from, bytes));
  }
}

}  // namespace fleet::comm
