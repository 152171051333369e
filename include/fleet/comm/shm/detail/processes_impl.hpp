#pragma once
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <span>

#include <fleet/comm/shm/detail/processes.hpp>
#include <fleet/core/error.hpp>
#include <fleet/core/system_reason.hpp>

namespace fleet::comm::shm {

FLEET_BODY Processes::Processes(std::span<int const> ids) : ids_(ids.begin(), ids.end()) {
  for (int id : ids_) {
    handles_.emplace_back();
#ifdef SYS_pidfd_open
    if (id == ::getpid()) continue;
    handles_.back() = Descriptor{static_cast<int>(::syscall(SYS_pidfd_open, id, 0))};
    if (!handles_.back()) throw_if_limit(text("cannot watch process ", id, " of the group"), errno);
#endif
  }
}

FLEET_BODY bool Processes::ended(std::size_t rank) const {
  if (ids_[rank] == ::getpid()) return false;
  if (!handles_[rank]) return ::kill(ids_[rank], 0) != 0 && errno == ESRCH;
  pollfd handle{handles_[rank].get(), POLLIN, 0};
  return ::poll(&handle, 1, 0) > 0;
}

}  // namespace fleet::comm::shm
