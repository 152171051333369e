#pragma once
#include <cstddef>
#include <span>

#include <fleet/comm/partition.hpp>
#include <fleet/comm/transport.hpp>
#include <fleet/comm/tree.hpp>

namespace fleet::comm {

/// `data` of `root` goes down a binomial tree, in pieces.
inline void broadcast(Transport& transport, std::span<std::byte> data, int root) {
  Tree const tree{transport, root};
  Pieces const pieces{data.size(), transport.piece_bytes()};
  for (std::size_t i = 0; i < pieces.count(); ++i) {
    auto const piece = data.subspan(pieces.offset(i), pieces.size(i));
    if (tree.place > 0) transport.receive(tree.parent(), piece);
    for (int distance = tree.reach() / 2; distance > 0; distance /= 2)
      if (tree.place + distance < tree.size) transport.send(tree.rank(tree.place + distance), piece);
  }
}

}  // namespace fleet::comm
