#pragma once
#include <cstddef>
#include <span>

#include <fleet/comm/detail/parts.hpp>
#include <fleet/comm/transport.hpp>

namespace fleet::comm {

/// Part r of `input` of `root` goes to rank r.
inline void scatter(Transport& transport, std::span<std::byte const> input, std::span<std::byte> output, int root) {
  if (transport.rank() != root) return transport.receive(root, output);
  for (int rank = 0; rank < transport.size(); ++rank) {
    auto const part = detail::part(input, rank, output.size());
    if (rank == root)
      detail::copy(output, part);
    else
      transport.send(rank, part);
  }
}

}  // namespace fleet::comm
