#pragma once
#include <chrono>

#include <fleet/comm/shm/detail/segment.hpp>
#include <fleet/core/config.hpp>
#include <fleet/core/function_ref.hpp>

namespace fleet::comm::shm {

/// Lets `rank` sleep until its bell rings or `longest` has passed, unless `satisfied`. A ring may be missed if it
/// comes within the instant in which the rank lies down, so `longest` is to be short.
FLEET_BODY void sleep(Segment& segment, int rank, FunctionRef<bool()> satisfied, std::chrono::milliseconds longest);

/// Wakes the ranks that sleep.
FLEET_BODY void ring(Segment& segment);

/// To be called by a rank that has written what others may wait for.
inline void wake_sleepers(Segment& segment) {
  if (segment.head().sleepers.load(std::memory_order_relaxed) != 0) ring(segment);
}

}  // namespace fleet::comm::shm

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/comm/shm/detail/bell_impl.hpp>  // IWYU pragma: export
#endif
