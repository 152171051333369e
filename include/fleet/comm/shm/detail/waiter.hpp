#pragma once
#include <atomic>
#include <chrono>

#include <fleet/comm/shm/detail/liveness.hpp>
#include <fleet/comm/shm/detail/mailbox.hpp>
#include <fleet/comm/shm/detail/segment.hpp>
#include <fleet/comm/shm/detail/stream.hpp>
#include <fleet/core/config.hpp>
#include <fleet/core/deadline.hpp>
#include <fleet/core/function_ref.hpp>

namespace fleet::comm::shm {

/// How one rank waits for others: first it looks again and again, for no longer than it takes to give the core away;
/// then it gives the core to whoever wants it; at last it sleeps. Each wait ends by the call's deadline, or when it is
/// found to be in vain.
class Waiter {
 public:
  /// `crowded`: the host has more ranks than cores for them.
  Waiter(Segment& segment, int rank, Mailbox& mailbox, Liveness& liveness, bool crowded)
      : segment_(segment), rank_(rank), mailbox_(mailbox), liveness_(liveness), crowded_(crowded) {}

  /// `eager`: nobody else of this rank needs the core.
  void begin(Deadline deadline, bool eager) {
    deadline_ = deadline;
    eager_ = eager;
    tries_ = eager && !crowded_ ? 64 : 4;
  }
  Deadline deadline() const { return deadline_; }

  /// Returns once `satisfied()`, which rank `other` has to see to.
  template <class Satisfied>
  void await(int other, Satisfied const& satisfied) {
    for (int i = 0; i < tries_; ++i) {
      if (satisfied()) return;
      relax();
    }
    wait_on(other, satisfied);
  }

 private:
  using Clock = Deadline::Clock;

  FLEET_BODY void wait_on(int other, FunctionRef<bool()> satisfied);

  Segment& segment_;
  int rank_;
  Mailbox& mailbox_;
  Liveness& liveness_;
  bool crowded_, eager_ = true;
  int tries_ = 0;
  Deadline deadline_{Clock::time_point{}};
};

}  // namespace fleet::comm::shm

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/comm/shm/detail/waiter_impl.hpp>  // IWYU pragma: export
#endif
