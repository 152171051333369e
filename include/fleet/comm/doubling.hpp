#pragma once
#include <bit>
#include <cstddef>
#include <span>

#include <fleet/comm/fold.hpp>
#include <fleet/comm/transport.hpp>

namespace fleet::comm {

/// All-reduce by recursive doubling, for small messages: log2(N) exchanges of all of `data`. Where N is no power of
/// two, the first ranks pair up before and after. `room` is as long as `data`, which holds accumulators.
inline void doubling_all_reduce(Transport& transport, std::span<std::byte> data, std::span<std::byte> room,
                                Reduction const& reduction) {
  int const size = transport.size(), rank = transport.rank();
  int const power = static_cast<int>(std::bit_floor(static_cast<unsigned>(size))), extra = size - power;
  std::size_t const count = data.size() / reduction.wide;
  bool const paired = rank < 2 * extra;
  if (paired && rank % 2 == 0) {
    transport.send(rank + 1, data);
    transport.receive(rank + 1, data);
    return;
  }
  if (paired) {
    transport.receive(rank - 1, room);
    reduction.fold(data.data(), room.data(), data.data(), count);
  }
  int const place = paired ? rank / 2 : rank - extra;
  for (int distance = 1; distance < power; distance *= 2) {
    int const other = place ^ distance, partner = other < extra ? 2 * other + 1 : other + extra;
    transport.exchange(partner, data, partner, room);
    bool const lower = place < other;  // whose data stands left
    reduction.fold(data.data(), lower ? data.data() : room.data(), lower ? room.data() : data.data(), count);
  }
  if (paired) transport.send(rank - 1, data);
}

}  // namespace fleet::comm
