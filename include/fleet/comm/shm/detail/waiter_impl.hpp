#pragma once
#include <sched.h>

#include <algorithm>
#include <chrono>

#include <fleet/comm/shm/detail/bell.hpp>
#include <fleet/comm/shm/detail/waiter.hpp>

namespace fleet::comm::shm {

FLEET_BODY void Waiter::wait_on(int other, FunctionRef<bool()> satisfied) {
  using namespace std::chrono_literals;
  auto& self = segment_.member(rank_);
  struct Mark {  // tells the others for whom this rank waits
    Member& self;
    Mark(Member& member, int other) : self(member) { self.waits_for.store(other, std::memory_order_relaxed); }
    ~Mark() { self.waits_for.store(-1, std::memory_order_relaxed); }
  } const mark{self, other};
  auto const start = Clock::now();
  Clock::duration const yield = eager_ ? 2ms : 5us;
  auto looked = start;
  auto nap = 1ms;
  while (!satisfied()) {
    auto const now = Clock::now();
    if (now - looked >= 1ms) {
      looked = now;
      self.beats.store(self.beats.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      liveness_.check(other, satisfied);
      if (now >= deadline_.at()) {
        if (satisfied()) return;
        liveness_.expired(other);
      }
    }
    if (mailbox_.put_aside()) continue;
    if (now - start < yield) {
      ::sched_yield();
      for (int i = 0; i < tries_ / 4 && !satisfied(); ++i) relax();
    } else {
      sleep(segment_, rank_, satisfied, std::clamp(std::min(nap, deadline_.remaining()), 1ms, 20ms));
      nap = std::min(2 * nap, 20ms);
    }
  }
}

}  // namespace fleet::comm::shm
