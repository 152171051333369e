#pragma once
#include <cstddef>
#include <span>

#include <fleet/comm/fold.hpp>
#include <fleet/comm/partition.hpp>
#include <fleet/comm/transport.hpp>

namespace fleet::comm {

/// Reduce-scatter in which every rank sends each other rank its part directly and folds what it gets into wide
/// accumulators: as many bytes as the ring sends, and half types are rounded only once. `output` may be this rank's
/// part of `input`.
inline void pairwise_reduce_scatter(Transport& transport, std::span<std::byte const> input, std::span<std::byte> output,
                                    Partition const& partition, Reduction const& reduction) {
  int const size = transport.size(), rank = transport.rank();
  auto const part = [&](int of) {
    auto const index = static_cast<std::size_t>(of);
    return input.subspan(partition.offset(index) * reduction.element, partition.size(index) * reduction.element);
  };
  std::size_t const count = output.size() / reduction.element;
  auto const room_bytes = transport.room_for(output.size());
  auto const memory = transport.scratch(room_bytes + count * reduction.wide);
  auto const room = memory.first(room_bytes);
  auto* const accumulators = memory.data() + room_bytes;
  reduction.load(accumulators, part(rank).data(), count);
  for (int step = 1; step < size; ++step) {
    int const to = (rank + step) % size, from = (rank + size - step) % size;
    auto const theirs = part(to);
    Pieces const going{theirs.size(), transport.piece_bytes()}, coming{output.size(), transport.piece_bytes()};
    std::size_t sent = 0, received = 0;
    auto const outgoing = [&] {
      auto const piece = sent++;
      return theirs.subspan(going.offset(piece), going.size(piece));
    };
    auto const incoming = [&] { return room.first(coming.size(received)); };
    auto const arrived = [&] {
      auto const done = coming.offset(received) / reduction.element;
      reduction.accumulate(accumulators + done * reduction.wide, room.data(),
                           coming.size(received) / reduction.element);
      ++received;
    };
    transport.flow({.to = to,
                    .sends = going.count(),
                    .outgoing = outgoing,
                    .from = from,
                    .receives = coming.count(),
                    .incoming = incoming,
                    .arrived = arrived});
  }
  reduction.store(output.data(), accumulators, count);
}

}  // namespace fleet::comm
