#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <fleet/comm/frame.hpp>
#include <fleet/comm/shm/detail/bell.hpp>
#include <fleet/comm/shm/detail/segment.hpp>
#include <fleet/comm/shm/detail/stream.hpp>
#include <fleet/comm/shm/detail/waiter.hpp>
#include <fleet/comm/shm/detail/watch.hpp>

namespace fleet::comm::shm {

/// Where ranks put what they have called, and chunks of their data, before all others. Every rank counts the calls and
/// the chunks ("ticks") in the same way, so that a counter says which call and chunk a rank has come to.
///
/// Two headers and `depth` chunks of each rank exist. A rank begins call k once all have begun call k - 1, so nobody
/// looks at its header of call k - 2 any more. It may fill a chunk again once all others are done with what was there:
/// `free_` says up to which tick that is known.
class Board {
 public:
  Board(Segment& segment, int rank, Waiter& waiter, Watch& watch)
      : segment_(segment),
        rank_(rank),
        waiter_(waiter),
        watch_(watch),
        seen_(static_cast<std::size_t>(segment.size())) {}

  std::uint32_t next_sequence() { return ++sequence_; }
  void begin() {
    published_ = false;
    auto const before = base_;
    base_ += ticks_;
    ticks_ = 0;
    for (int other = 0; other < segment_.size(); ++other) {
      if (other == rank_ || seen_[index(other)] == sequence_ - 1) continue;
      auto const& theirs = segment_.header(other, sequence_ - 1).sequence;
      waiter_.await(other, [&] { return theirs.load(std::memory_order_acquire) == sequence_ - 1; });
    }
    free_ = std::max(free_, before);
  }
  void end() {
    if (!published_) publish({}, 0);
  }

  /// Says what this rank has called, once a call.
  void publish(std::span<std::byte const> data = {}, std::uint32_t filled = 0) {
    if (published_) return;
    published_ = true;
    auto& line = segment_.header(rank_, sequence_);
    auto const& call = watch_.call();
    line.number = static_cast<std::uint32_t>(call.number);
    line.operation = call.operation;
    line.dtype = call.dtype;
    line.reduce = call.reduce;
    line.kind = call.kind;
    line.root = call.root;
    line.tag = call.tag;
    line.bytes = call.bytes;
    line.filled = filled;
    if (!data.empty()) std::memcpy(line.data, data.data(), data.size());
    line.sequence.store(sequence_, std::memory_order_release);
    wake_sleepers(segment_);
  }
  /// What `other` has published with its header.
  std::byte const* data(int other) const { return segment_.header(other, sequence_).data; }

  /// Waits until `other` has made the same call.
  void await_call(int other) {
    if (other == rank_ || seen_[index(other)] == sequence_) return;
    auto const& theirs = segment_.header(other, sequence_).sequence;
    waiter_.await(other, [&] { return theirs.load(std::memory_order_acquire) == sequence_; });
    watch_.compare(other);
    seen_[index(other)] = sequence_;
  }
  void await_calls() {
    for (int other = 0; other < segment_.size(); ++other) await_call(other);
    free_ = std::max(free_, base_);
  }

  /// The call takes so many ticks on every rank. From tick `depth` on, its algorithm sees to it that chunks are free.
  void take_ticks(std::uint64_t count) { ticks_ = count; }
  /// All others are done with the chunks before this tick of the call.
  void free_before(std::uint64_t tick) { free_ = std::max(free_, base_ + tick); }

  std::byte* chunk(int rank, std::uint64_t tick) const { return segment_.chunk(rank, base_ + tick); }
  std::byte* share(int rank, std::uint64_t tick) const { return segment_.share(rank, base_ + tick); }

  /// Fills this rank's chunk by `write(memory)`, and tells the others.
  template <class Write>
  void put(std::uint64_t tick, Write const& write) {
    auto const at = base_ + tick;
    if (tick < depth && at >= depth && at - depth >= free_) {
      publish();
      await_calls();
    }
    write(segment_.chunk(rank_, at));
    publish_streams();
    if (tick == 0 && !published_) return publish({}, 1);
    segment_.progress(rank_).put.store(at + 1, std::memory_order_release);
    wake_sleepers(segment_);
  }
  void await_put(int other, std::uint64_t tick) {
    await_call(other);
    if (other == rank_ || (tick == 0 && segment_.header(other, sequence_).filled == 1)) return;
    await_count(other, segment_.progress(other).put, tick);
  }
  void await_puts(std::uint64_t tick) {
    if (tick == 0) await_calls();
    for (int other = 0; other < segment_.size(); ++other) await_put(other, tick);
  }

  /// Tells the others that this rank has worked off the tick.
  void done(std::uint64_t tick) {
    publish_streams();
    segment_.progress(rank_).done.store(base_ + tick + 1, std::memory_order_release);
    wake_sleepers(segment_);
  }
  void await_done(int other, std::uint64_t tick) {
    if (other != rank_) await_count(other, segment_.progress(other).done, tick);
  }

 private:
  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }
  void await_count(int other, std::atomic<std::uint64_t> const& count, std::uint64_t tick) {
    waiter_.await(other, [&, least = base_ + tick + 1] { return count.load(std::memory_order_acquire) >= least; });
  }

  Segment& segment_;
  int rank_;
  Waiter& waiter_;
  Watch& watch_;
  std::vector<std::uint32_t> seen_;  // the last call of each rank that was compared
  std::uint32_t sequence_ = 0;
  bool published_ = true;
  std::uint64_t base_ = 0, ticks_ = 0, free_ = 0;
};

}  // namespace fleet::comm::shm
