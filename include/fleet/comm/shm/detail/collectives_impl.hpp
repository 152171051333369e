#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <fleet/comm/all_reduce.hpp>
#include <fleet/comm/detail/parts.hpp>
#include <fleet/comm/shm/detail/collectives.hpp>
#include <fleet/comm/shm/detail/stream.hpp>

namespace fleet::comm::shm {
namespace detail {

/// Every rank reads at most so much of the others' data where each reduces all of it for itself.
inline constexpr std::size_t at_once_limit = std::size_t{96} << 10;

/// A broadcast is cut into so many chunks, so that reading goes on while the root still writes.
inline constexpr std::size_t broadcast_chunks = 8, least_broadcast_chunk = std::size_t{16} << 10;

}  // namespace detail

FLEET_BODY std::uint64_t Collectives::ticks(Partition const& partition, std::size_t element, std::size_t limit) const {
  std::uint64_t most = 1;
  for (int rank = 0; rank < segment_.size(); ++rank)
    most = std::max<std::uint64_t>(most, part(partition, rank, element, limit).pieces.count());
  return most;
}

FLEET_BODY void Collectives::barrier() {
  board_.publish();
  board_.await_calls();
}

FLEET_BODY void Collectives::all_reduce(std::span<std::byte> data, Reduction const& reduction) {
  auto const ranks = sources_.size();
  Partition const partition{data.size() / reduction.element, ranks};
  Combiner const combine{reduction, partition, data.size() <= doubling_limit};
  if (data.size() <= inline_bytes) {
    board_.publish(data);
    board_.await_calls();
    for (std::size_t other = 0; other < ranks; ++other) sources_[other] = board_.data(static_cast<int>(other));
    return combine(data.data(), sources_, 0, partition.total());
  }
  if (ranks == 2 || data.size() * (ranks - 1) <= detail::at_once_limit) return reduce_at_once(data, combine, reduction);
  reduce_in_shares(data, partition, combine, reduction);
}

FLEET_BODY void Collectives::reduce_at_once(std::span<std::byte> data, Combiner const& combine,
                                            Reduction const& reduction) {
  Pieces const pieces{data.size(), segment_.chunk_bytes()};
  auto const count = pieces.count();
  board_.take_ticks(count);
  auto const piece = [&](std::uint64_t tick) { return data.subspan(pieces.offset(tick), pieces.size(tick)); };
  for (std::uint64_t tick = 0; tick <= count; ++tick) {
    if (tick < count)
      board_.put(tick, [&](std::byte* memory) { stream(memory, piece(tick).data(), piece(tick).size()); });
    if (tick == 0) continue;
    board_.await_puts(tick - 1);
    auto const here = piece(tick - 1);
    for (std::size_t other = 0; other < sources_.size(); ++other)
      sources_[other] = board_.chunk(static_cast<int>(other), tick - 1);
    sources_[static_cast<std::size_t>(rank_)] = here.data();
    combine(here.data(), sources_, pieces.offset(tick - 1) / reduction.element, here.size() / reduction.element);
  }
  if (count > 2) board_.free_before(count - 2);
}

FLEET_BODY void Collectives::reduce_in_shares(std::span<std::byte> data, Partition const& partition,
                                              Combiner const& combine, Reduction const& reduction) {
  auto const limit = segment_.share_bytes(), element = reduction.element;
  auto const count = ticks(partition, element, limit);
  board_.take_ticks(count);
  auto const own = part(partition, rank_, element, limit);
  for (std::uint64_t tick = 0; tick < count + 2; ++tick) {
    if (tick < count) put_parts(tick, data, partition, element);
    if (tick >= 1 && tick - 1 < count) {
      auto const at = tick - 1;
      auto const mine = data.subspan(std::min(own.offset(at), data.size()), own.size(at));
      reduce_part(at, own.offset(at), mine, mine, combine, reduction);
      stream(board_.share(rank_, at), mine.data(), mine.size());
      board_.done(at);
    }
    if (tick < 2) continue;
    for (int step = 1; step < segment_.size(); ++step) {
      int const other = (rank_ + step) % segment_.size();
      auto const theirs = part(partition, other, element, limit);
      board_.await_done(other, tick - 2);
      if (auto const size = theirs.size(tick - 2); size > 0)
        std::memcpy(data.data() + theirs.offset(tick - 2), board_.share(other, tick - 2), size);
    }
  }
  board_.free_before(count);
}

FLEET_BODY void Collectives::put_parts(std::uint64_t tick, std::span<std::byte const> data, Partition const& partition,
                                       std::size_t element) {
  auto const limit = segment_.share_bytes();
  board_.put(tick, [&](std::byte* memory) {
    for (int step = 1; step < segment_.size(); ++step) {
      int const other = (rank_ + step) % segment_.size();
      auto const theirs = part(partition, other, element, limit);
      if (auto const size = theirs.size(tick); size > 0)
        stream(memory + static_cast<std::size_t>(other) * limit, data.data() + theirs.offset(tick), size);
    }
  });
}

FLEET_BODY void Collectives::reduce_part(std::uint64_t tick, std::size_t first, std::span<std::byte> out,
                                         std::span<std::byte const> own, Combiner const& combine,
                                         Reduction const& reduction) {
  board_.await_puts(tick);
  if (own.empty()) return;
  for (std::size_t other = 0; other < sources_.size(); ++other)
    sources_[other] =
        board_.chunk(static_cast<int>(other), tick) + static_cast<std::size_t>(rank_) * segment_.share_bytes();
  sources_[static_cast<std::size_t>(rank_)] = own.data();
  combine(out.data(), sources_, first / reduction.element, own.size() / reduction.element);
}

FLEET_BODY void Collectives::reduce_scatter(std::span<std::byte const> input, std::span<std::byte> output,
                                            Partition const& partition, Reduction const& reduction) {
  auto const limit = segment_.share_bytes(), element = reduction.element;
  Combiner const combine{reduction, partition, false};
  auto const count = ticks(partition, element, limit);
  board_.take_ticks(count);
  auto const own = part(partition, rank_, element, limit);
  for (std::uint64_t tick = 0; tick <= count; ++tick) {
    if (tick < count) put_parts(tick, input, partition, element);
    if (tick == 0) continue;
    auto const at = tick - 1;
    auto const size = own.size(at), done = std::min(own.pieces.offset(at), output.size());
    reduce_part(at, own.offset(at), output.subspan(done, size), input.subspan(own.first + done, size), combine,
                reduction);
  }
  if (count > 2) board_.free_before(count - 2);
}

FLEET_BODY void Collectives::all_gather(std::span<std::byte const> input, std::span<std::byte> output,
                                        Partition const& partition, std::size_t element) {
  auto const limit = segment_.chunk_bytes();
  auto const own = part(partition, rank_, element, limit);
  std::size_t longest = 0;
  for (std::size_t rank = 0; rank < sources_.size(); ++rank)
    longest = std::max(longest, partition.size(rank) * element);
  if (longest <= inline_bytes) {
    board_.publish(input);
    comm::detail::copy(output.subspan(own.first, input.size()), input);
    board_.await_calls();
    for (int other = 0; other < segment_.size(); ++other) {
      auto const theirs = part(partition, other, element, limit);
      if (other != rank_ && theirs.pieces.total > 0)
        std::memcpy(output.data() + theirs.first, board_.data(other), theirs.pieces.total);
    }
    return;
  }
  auto const count = ticks(partition, element, limit);
  board_.take_ticks(count);
  for (std::uint64_t tick = 0; tick <= count; ++tick) {
    if (tick < count) {
      auto const done = std::min(own.pieces.offset(tick), input.size());
      auto const piece = input.subspan(done, own.size(tick));
      board_.put(tick, [&](std::byte* memory) { stream(memory, piece.data(), piece.size()); });
      if (auto* const place = output.data() + own.first + done; place != piece.data())
        copy_out(place, piece.data(), piece.size(), output.size());
    }
    if (tick == 0) continue;
    board_.await_puts(tick - 1);
    for (int step = 1; step < segment_.size(); ++step) {
      int const other = (rank_ + step) % segment_.size();
      auto const theirs = part(partition, other, element, limit);
      if (auto const size = theirs.size(tick - 1); size > 0)
        copy_out(output.data() + theirs.offset(tick - 1), board_.chunk(other, tick - 1), size, output.size());
    }
  }
  if (count > 2) board_.free_before(count - 2);
}

FLEET_BODY void Collectives::broadcast(std::span<std::byte> data, int root) {
  if (data.size() <= inline_bytes) {
    board_.publish(rank_ == root ? data : std::span<std::byte>{});
    board_.await_call(root);
    if (rank_ != root && !data.empty()) std::memcpy(data.data(), board_.data(root), data.size());
    return;
  }
  auto const limit = std::max(data.size() / detail::broadcast_chunks / line * line, detail::least_broadcast_chunk);
  Pieces const pieces{data.size(), std::min(limit, segment_.chunk_bytes())};
  auto const count = pieces.count();
  board_.take_ticks(count);
  if (rank_ != root) board_.publish();
  for (std::uint64_t tick = 0; tick < count; ++tick) {
    auto* const place = data.data() + pieces.offset(tick);
    auto const size = pieces.size(tick);
    if (rank_ == root) {
      for (int other = 0; tick >= depth && other < segment_.size(); ++other) board_.await_done(other, tick - depth);
      board_.put(tick, [&](std::byte* memory) { stream(memory, place, size); });
    } else {
      board_.await_put(root, tick);
      copy_out(place, board_.chunk(root, tick), size, data.size());
      board_.done(tick);
    }
  }
}

}  // namespace fleet::comm::shm
