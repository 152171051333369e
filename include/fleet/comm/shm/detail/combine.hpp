#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>

#include <fleet/comm/all_reduce.hpp>
#include <fleet/comm/fold.hpp>
#include <fleet/comm/partition.hpp>

namespace fleet::comm::shm {

/// Reduces the data of all ranks at once, in the order in which the algorithms over a Transport do it, so that the bits
/// are the same: short data as recursive doubling pairs the ranks; longer data in one part a rank, each part beginning
/// with the rank after its own, as the ring goes round (with its own and going down, for half types that are widened).
class Combiner {
 public:
  /// By rank: where the data lies that is to be reduced now.
  using Sources = std::span<std::byte const* const>;

  /// `partition`: of all the elements of the call.
  Combiner(Reduction const& reduction, Partition const& partition, bool pairs)
      : reduction_(reduction), partition_(partition), pairs_(pairs) {}

  /// out = the reduction of elements [first, first + count) of the call; `out` may be one of the sources.
  void operator()(std::byte* out, Sources sources, std::size_t first, std::size_t count) const {
    if (sources.size() == 2 && !reduction_.in_place()) return reduction_.pair(out, sources[0], sources[1], count);
    if (pairs_) return in_blocks(out, sources, 0, count, [&](auto&&... arguments) { pairs(arguments...); });
    for (std::size_t part = 0, done = 0; part < partition_.ranks() && done < count; ++part) {
      std::size_t const end = partition_.offset(part) + partition_.size(part);
      if (end <= first + done) continue;
      std::size_t const now = std::min(end - first - done, count - done);
      in_blocks(out, sources, done, now, [&](auto&&... arguments) { chain(part, arguments...); });
      done += now;
    }
  }

 private:
  static constexpr std::size_t block = 4096;  // bytes of accumulators: they stay in the first cache

  template <class Kind>
  void in_blocks(std::byte* out, Sources sources, std::size_t first, std::size_t count, Kind const& kind) const {
    std::size_t const step = block / reduction_.wide;
    for (std::size_t done = first; done < first + count; done += step)
      kind(out + done * reduction_.element, sources, done, std::min(step, first + count - done));
  }

  std::byte const* at(Sources sources, std::size_t rank, std::size_t first) const {
    return sources[rank] + first * reduction_.element;
  }

  void chain(std::size_t part, std::byte* out, Sources sources, std::size_t first, std::size_t count) const {
    std::size_t const ranks = sources.size();
    alignas(64) std::byte sum[block];
    if (!reduction_.in_place()) {
      reduction_.load(sum, at(sources, part, first), count);
      for (std::size_t i = 1; i < ranks; ++i)
        reduction_.accumulate(sum, at(sources, (part + ranks - i) % ranks, first), count);
      return reduction_.store(out, sum, count);
    }
    auto const source = [&](std::size_t i) { return at(sources, (part + 1 + i) % ranks, first); };
    std::byte const* left = source(0);
    for (std::size_t i = 1; i < ranks; ++i) {
      auto* const target = i + 1 == ranks ? out : sum;
      reduction_.fold(target, left, source(i), count);
      left = target;
    }
  }

  void pairs(std::byte* out, Sources sources, std::size_t first, std::size_t count) const {
    alignas(64) std::byte left[block], right[block];
    auto const places = std::bit_floor(sources.size());
    if (places == 1) return reduction_.store(out, subtree(left, sources, first, count, 0, 1), count);
    auto const* const a = subtree(left, sources, first, count, 0, places / 2);
    auto const* const b = subtree(right, sources, first, count, places / 2, places / 2);
    if (reduction_.in_place()) return reduction_.fold(out, a, b, count);
    reduction_.fold(left, a, b, count);
    reduction_.store(out, left, count);
  }

  /// The accumulators of some places of the doubling; they lie in `room`, or are the source itself.
  std::byte const* subtree(std::byte* room, Sources sources, std::size_t first, std::size_t count, std::size_t place,
                           std::size_t places) const {
    if (places > 1) {
      alignas(64) std::byte other[block];
      auto const* const a = subtree(room, sources, first, count, place, places / 2);
      auto const* const b = subtree(other, sources, first, count, place + places / 2, places / 2);
      reduction_.fold(room, a, b, count);
      return room;
    }
    std::size_t const extra = sources.size() - std::bit_floor(sources.size());
    bool const paired = place < extra;
    auto const* const own = at(sources, paired ? 2 * place : place + extra, first);
    if (!paired && reduction_.in_place()) return own;
    if (!paired) {
      reduction_.load(room, own, count);
    } else if (auto const* const next = at(sources, 2 * place + 1, first); reduction_.in_place()) {
      reduction_.fold(room, own, next, count);
    } else {
      reduction_.load(room, own, count);
      reduction_.accumulate(room, next, count);
    }
    return room;
  }

  Reduction const& reduction_;
  Partition const& partition_;
  bool pairs_;
};

}  // namespace fleet::comm::shm
