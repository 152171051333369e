#pragma once
#include <cstddef>
#include <span>

#include <fleet/comm/fold.hpp>
#include <fleet/comm/partition.hpp>
#include <fleet/comm/transport.hpp>
#include <fleet/comm/tree.hpp>

namespace fleet::comm {

/// `data` is folded up a binomial tree, in pieces; only `root` gets the result, the others keep theirs.
inline void reduce(Transport& transport, std::span<std::byte> data, int root, Reduction const& reduction) {
  Tree const tree{transport, root};
  bool const leaf = tree.reach() == 1, in_place = reduction.in_place() && (leaf || tree.place == 0);
  Pieces const pieces{data.size() / reduction.element, transport.piece_bytes() / reduction.wide};
  auto const room_bytes = transport.room_for(pieces.total * reduction.wide);
  auto const memory = transport.scratch(2 * room_bytes);
  for (std::size_t i = 0; i < pieces.count(); ++i) {
    std::size_t const count = pieces.size(i);
    auto* const own = data.data() + pieces.offset(i) * reduction.element;
    auto const room = memory.first(count * reduction.wide);
    auto const sum =
        in_place ? std::span{own, count * reduction.wide} : memory.subspan(room_bytes, count * reduction.wide);
    if (!in_place) reduction.load(sum.data(), own, count);
    for (int distance = 1; distance < tree.reach() && tree.place + distance < tree.size; distance *= 2) {
      transport.receive(tree.rank(tree.place + distance), room);
      reduction.fold(sum.data(), sum.data(), room.data(), count);
    }
    if (tree.place > 0)
      transport.send(tree.parent(), sum);
    else if (!in_place)
      reduction.store(own, sum.data(), count);
  }
}

}  // namespace fleet::comm
