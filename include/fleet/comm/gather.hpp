#pragma once
#include <cstddef>
#include <span>

#include <fleet/comm/detail/parts.hpp>
#include <fleet/comm/transport.hpp>

namespace fleet::comm {

/// `output` of `root` gets the `input` of all ranks, in rank order.
inline void gather(Transport& transport, std::span<std::byte const> input, std::span<std::byte> output, int root) {
  if (transport.rank() != root) return transport.send(root, input);
  for (int rank = 0; rank < transport.size(); ++rank) {
    auto const part = detail::part(output, rank, input.size());
    if (rank == root)
      detail::copy(part, input);
    else
      transport.receive(rank, part);
  }
}

}  // namespace fleet::comm
