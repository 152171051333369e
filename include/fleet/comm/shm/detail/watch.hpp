#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fleet/comm/frame.hpp>
#include <fleet/comm/shm/detail/liveness.hpp>
#include <fleet/comm/shm/detail/processes.hpp>
#include <fleet/comm/shm/detail/segment.hpp>
#include <fleet/core/config.hpp>
#include <fleet/core/error.hpp>

namespace fleet::comm::shm {

/// What one rank knows of the group's health, from the memory they share and from the system: who has ended, left,
/// refused a call or made another one, and who waits for whom.
class Watch final : public Liveness {
 public:
  Watch(std::shared_ptr<Segment> segment, int rank, std::shared_ptr<Processes const> processes)
      : segment_(std::move(segment)), rank_(rank), processes_(std::move(processes)) {}

  /// The call that is under way from now on. `sequence` is 0 for one that not all ranks make.
  FLEET_BODY void begin(Frame const& call, std::uint32_t sequence);
  Frame const& call() const { return call_; }

  FLEET_BODY void check(int other, FunctionRef<bool()> satisfied) override;
  [[noreturn]] FLEET_BODY void expired(int other) override;

  /// Ends the call here and on all ranks unless rank `other` has made the same call. Its header is there.
  void compare(int other) {
    if (!same_call(header(other), call_)) differs();
  }
  /// Rank `other` has sent `theirs`, which does not fit the call.
  [[noreturn]] FLEET_BODY void mismatch(int other, Frame const& theirs);
  [[noreturn]] FLEET_BODY void fail(TransportError::Cause cause, int guilty, int partner, std::string const& reason);

  FLEET_BODY void refuse(std::uint64_t number, std::string const& why);
  FLEET_BODY void interrupt();
  FLEET_BODY void leave();

 private:
  using Clock = std::chrono::steady_clock;

  Member& member(int rank) const { return segment_->member(rank); }
  /// What rank `other` has called with the sequence number of our call, or before.
  Frame header(int other) const {
    auto const& line = segment_->header(other, sequence_);
    return {.operation = line.operation,
            .dtype = line.dtype,
            .reduce = line.reduce,
            .kind = line.kind,
            .root = line.root,
            .tag = line.tag,
            .number = line.number,
            .bytes = line.bytes};
  }
  bool has_called(int other) const {
    return segment_->header(other, sequence_).sequence.load(std::memory_order_acquire) == sequence_;
  }
  bool broken() const { return segment_->head().failure.state.load(std::memory_order_acquire) != Failure::none; }
  [[noreturn]] FLEET_BODY void throw_failure() const;
  [[noreturn]] FLEET_BODY void differs();
  FLEET_BODY void check_refusals(int other);
  FLEET_BODY std::vector<bool> ranks_that_wait();

  std::shared_ptr<Segment> segment_;
  int rank_;
  std::shared_ptr<Processes const> processes_;
  std::atomic<bool> interrupted_ = false;
  Clock::time_point looked_{};

  Frame call_{};
  std::uint32_t sequence_ = 0;
};

}  // namespace fleet::comm::shm

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/comm/shm/detail/watch_impl.hpp>  // IWYU pragma: export
#endif
