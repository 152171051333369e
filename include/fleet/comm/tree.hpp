#pragma once
#include <bit>

#include <fleet/comm/transport.hpp>

namespace fleet::comm {

/// A binomial tree over the ranks, counted from the root.
struct Tree {
  int size, root, place;

  Tree(Transport const& transport, int root_rank)
      : size(transport.size()), root(root_rank), place((transport.rank() + size - root) % size) {}

  int rank(int at) const { return (at + root) % size; }
  /// The distance to the parent; for the root, one beyond its farthest child.
  int reach() const {
    return place > 0 ? place & -place : static_cast<int>(std::bit_ceil(static_cast<unsigned>(size)));
  }
  int parent() const { return rank(place - reach()); }
};

}  // namespace fleet::comm
