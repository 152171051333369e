#pragma once
#include <cstddef>
#include <cstring>
#include <span>

#include <fleet/comm/doubling.hpp>
#include <fleet/comm/fold.hpp>
#include <fleet/comm/pairwise.hpp>
#include <fleet/comm/partition.hpp>
#include <fleet/comm/ring.hpp>
#include <fleet/comm/transport.hpp>

namespace fleet::comm {

/// Messages of at most so many bytes are reduced by doubling, larger ones along the ring.
inline constexpr std::size_t doubling_limit = std::size_t{32} << 10;

/// `data` becomes its reduction over the ranks, with the same bits on every rank.
inline void all_reduce(Transport& transport, std::span<std::byte> data, Reduction const& reduction) {
  std::size_t const count = data.size() / reduction.element;
  if (data.size() <= doubling_limit && reduction.in_place()) {
    doubling_all_reduce(transport, data, transport.scratch(data.size()), reduction);
  } else if (data.size() <= doubling_limit) {
    auto const memory = transport.scratch(2 * count * reduction.wide);
    auto const accumulators = memory.first(count * reduction.wide);
    reduction.load(accumulators.data(), data.data(), count);
    doubling_all_reduce(transport, accumulators, memory.subspan(accumulators.size()), reduction);
    reduction.store(data.data(), accumulators.data(), count);
  } else if (reduction.in_place()) {
    ring_all_reduce(transport, data, reduction);
  } else {
    auto const rank = static_cast<std::size_t>(transport.rank());
    Partition const partition{count, static_cast<std::size_t>(transport.size())};
    auto const own = data.subspan(partition.offset(rank) * reduction.element, partition.size(rank) * reduction.element);
    pairwise_reduce_scatter(transport, data, own, partition, reduction);
    ring_all_gather(transport, data, partition, reduction.dtype);
  }
}

/// `output` becomes this rank's part of the reduction of `input`.
inline void reduce_scatter(Transport& transport, std::span<std::byte const> input, std::span<std::byte> output,
                           Partition const& partition, Reduction const& reduction) {
  if (reduction.in_place())
    ring_reduce_scatter(transport, input, output, partition, reduction);
  else
    pairwise_reduce_scatter(transport, input, output, partition, reduction);
}

}  // namespace fleet::comm
