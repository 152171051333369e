#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <fleet/comm/call.hpp>
#include <fleet/comm/fold.hpp>
#include <fleet/comm/partition.hpp>
#include <fleet/comm/shm/detail/board.hpp>
#include <fleet/comm/shm/detail/combine.hpp>
#include <fleet/comm/shm/detail/segment.hpp>
#include <fleet/core/config.hpp>

namespace fleet::comm::shm {

/// The collective calls on a board. Each moves its data through chunks: while others work on what a rank has put, it
/// puts the next. In all of them a rank that waits for the others' chunk i has put chunk i + 1 at most, so that nobody
/// is more than two chunks ahead, and the chunks of `depth` suffice.
class Collectives {
 public:
  Collectives(Segment const& segment, int rank, Board& board)
      : segment_(segment), rank_(rank), board_(board), sources_(static_cast<std::size_t>(segment.size())) {}

  FLEET_BODY void barrier();
  FLEET_BODY void all_reduce(std::span<std::byte> data, Reduction const& reduction);
  FLEET_BODY void reduce_scatter(std::span<std::byte const> input, std::span<std::byte> output,
                                 Partition const& partition, Reduction const& reduction);
  FLEET_BODY void all_gather(std::span<std::byte const> input, std::span<std::byte> output, Partition const& partition,
                             std::size_t element);
  FLEET_BODY void broadcast(std::span<std::byte> data, int root);

 private:
  /// The part of a buffer that belongs to a rank, cut into pieces.
  struct Part {
    std::size_t first;  ///< bytes before it
    Pieces pieces;

    std::size_t offset(std::uint64_t tick) const { return first + pieces.offset(tick); }
    std::size_t size(std::uint64_t tick) const { return tick < pieces.count() ? pieces.size(tick) : 0; }
  };
  static Part part(Partition const& partition, int rank, std::size_t element, std::size_t limit) {
    auto const index = static_cast<std::size_t>(rank);
    return {partition.offset(index) * element, {partition.size(index) * element, limit}};
  }
  /// How many ticks the longest part takes; at least 1.
  FLEET_BODY std::uint64_t ticks(Partition const& partition, std::size_t element, std::size_t limit) const;

  FLEET_BODY void reduce_at_once(std::span<std::byte> data, Combiner const& combine, Reduction const& reduction);
  FLEET_BODY void reduce_in_shares(std::span<std::byte> data, Partition const& partition, Combiner const& combine,
                                   Reduction const& reduction);
  FLEET_BODY void put_parts(std::uint64_t tick, std::span<std::byte const> data, Partition const& partition,
                            std::size_t element);
  /// Reduces this rank's part of what all have put in a tick; it begins `first` bytes from the beginning of the data.
  FLEET_BODY void reduce_part(std::uint64_t tick, std::size_t first, std::span<std::byte> out,
                              std::span<std::byte const> own, Combiner const& combine, Reduction const& reduction);

  Segment const& segment_;
  int rank_;
  Board& board_;
  std::vector<std::byte const*> sources_;
};

}  // namespace fleet::comm::shm

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/comm/shm/detail/collectives_impl.hpp>  // IWYU pragma: export
#endif
