#pragma once
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>

#include <fleet/comm/shm/detail/bell.hpp>

namespace fleet::comm::shm {

FLEET_BODY void sleep(Segment& segment, int rank, FunctionRef<bool()> satisfied, std::chrono::milliseconds longest) {
  auto& self = segment.member(rank);
  auto const before = self.bell.load();
  self.sleeping.store(1);
  segment.head().sleepers.fetch_add(1);
  if (!satisfied()) {
    timespec const time{longest.count() / 1000, static_cast<long>(longest.count() % 1000 * 1'000'000)};
    ::syscall(SYS_futex, &self.bell, FUTEX_WAIT, before, &time, nullptr, 0);
  }
  segment.head().sleepers.fetch_sub(1);
  self.sleeping.store(0);
}

FLEET_BODY void ring(Segment& segment) {
  for (int rank = 0; rank < segment.size(); ++rank) {
    auto& member = segment.member(rank);
    if (member.sleeping.load() == 0) continue;
    member.bell.fetch_add(1);
    ::syscall(SYS_futex, &member.bell, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }
}

}  // namespace fleet::comm::shm
