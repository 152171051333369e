#pragma once
#include <cstddef>
#include <cstring>
#include <span>

#include <fleet/comm/fold.hpp>
#include <fleet/comm/partition.hpp>
#include <fleet/comm/transport.hpp>

namespace fleet::comm {
namespace detail {

/// The pieces of the ranks' segments in the order in which they pass one rank of a ring: those of the segment
/// `behind` places before its own, then those of the segment before that, and so on.
class RingWalk {
 public:
  struct Piece {
    std::size_t offset, bytes;
  };

  RingWalk(Transport const& transport, Partition const& partition, std::size_t element, std::size_t behind)
      : partition_(&partition),
        limit_(transport.piece_bytes()),
        element_(element),
        segment_((static_cast<std::size_t>(transport.rank()) + 2 * partition.ranks() - behind) % partition.ranks()) {}

  Piece next() {
    while (piece_ == pieces().count()) step();
    auto const here = pieces();
    auto const piece = piece_++;
    return {partition_->offset(segment_) * element_ + here.offset(piece), here.size(piece)};
  }
  /// How many pieces the next segments have together.
  std::size_t count(std::size_t segments) const {
    std::size_t sum = 0;
    for (auto walk = *this; segments > 0; --segments, walk.step()) sum += walk.pieces().count();
    return sum;
  }

 private:
  Pieces pieces() const { return {partition_->size(segment_) * element_, limit_}; }
  void step() {
    segment_ = (segment_ + partition_->ranks() - 1) % partition_->ranks();
    piece_ = 0;
  }

  Partition const* partition_;
  std::size_t limit_, element_, segment_, piece_ = 0;
};

/// One flow around the ring: the first `reducing` segments that come in are folded with this rank's own data `source`
/// into `target`, then `copying` come into `target` as they are. `source` may be `target`; `room` takes one piece.
inline void around_ring(Transport& transport, Partition const& partition, Reduction const& reduction,
                        std::byte const* source, std::byte* target, std::size_t reducing, std::size_t copying,
                        std::span<std::byte> room) {
  int const size = transport.size(), rank = transport.rank();
  std::size_t const first =
      reducing > 0 ? 1 : 0;  // the segment that goes out first: the one before our own, or our own
  RingWalk out{transport, partition, reduction.element, first}, in{transport, partition, reduction.element, first + 1};
  std::size_t const lead = out.count(1), folds = in.count(reducing);
  std::size_t const sends = out.count(reducing + copying), receives = in.count(reducing + copying);
  std::size_t sent = 0, received = 0;
  RingWalk::Piece current{};
  auto const outgoing = [&] {
    auto const piece = out.next();
    return std::span{(sent++ < lead ? source : target) + piece.offset, piece.bytes};
  };
  auto const incoming = [&] {
    current = in.next();
    return received < folds ? room.first(current.bytes) : std::span{target + current.offset, current.bytes};
  };
  auto const arrived = [&] {
    if (received++ < folds)
      reduction.fold(target + current.offset, room.data(), source + current.offset, current.bytes / reduction.element);
  };
  transport.flow({.to = (rank + 1) % size,
                  .sends = sends,
                  .lead = lead,
                  .outgoing = outgoing,
                  .from = (rank + size - 1) % size,
                  .receives = receives,
                  .incoming = incoming,
                  .arrived = arrived});
}

}  // namespace detail

/// Ring all-reduce, for large messages: each rank sends and receives 2 (N - 1) / N of `data`. Segments are folded on
/// their way round, and passed on in pieces while later pieces still come in.
inline void ring_all_reduce(Transport& transport, std::span<std::byte> data, Reduction const& reduction) {
  Partition const partition{data.size() / reduction.element, static_cast<std::size_t>(transport.size())};
  auto const steps = partition.ranks() - 1;
  detail::around_ring(transport, partition, reduction, data.data(), data.data(), steps, steps,
                      transport.scratch(transport.room_for(data.size())));
}

/// Ring reduce-scatter: `output` becomes this rank's part of the reduced `input`.
inline void ring_reduce_scatter(Transport& transport, std::span<std::byte const> input, std::span<std::byte> output,
                                Partition const& partition, Reduction const& reduction) {
  auto const room = transport.room_for(input.size());
  auto const memory = transport.scratch(room + input.size());
  auto const partial = memory.subspan(room);
  detail::around_ring(transport, partition, reduction, input.data(), partial.data(), partition.ranks() - 1, 0,
                      memory.first(room));
  auto const own = partition.offset(static_cast<std::size_t>(transport.rank())) * reduction.element;
  if (!output.empty()) std::memcpy(output.data(), partial.data() + own, output.size());
}

/// Ring all-gather: this rank's own part of `data` is in place, those of the others come in.
inline void ring_all_gather(Transport& transport, std::span<std::byte> data, Partition const& partition, DType dtype) {
  Reduction const none{dtype, ReduceOp::max};
  detail::around_ring(transport, partition, none, data.data(), data.data(), 0, partition.ranks() - 1, {});
}

}  // namespace fleet::comm
