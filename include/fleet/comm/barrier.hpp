#pragma once
#include <fleet/comm/transport.hpp>

namespace fleet::comm {

/// Dissemination: after log2(N) rounds every rank has heard, over others, of every rank.
inline void barrier(Transport& transport) {
  int const size = transport.size(), rank = transport.rank();
  for (int distance = 1; distance < size; distance *= 2)
    transport.signal((rank + distance) % size, (rank + size - distance) % size);
}

}  // namespace fleet::comm
