#pragma once
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#include <string>
#include <system_error>
#include <utility>

#include <fleet/data/detail/reader.hpp>

namespace fleet::data::detail {

FLEET_BODY std::thread start_reader(std::function<void()> body) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // a new thread inherits the mask
  std::thread thread;
  std::error_code error;
  try {
    thread = std::thread{std::move(body)};
  } catch (std::system_error const& failure) {
    error = failure.code();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error) {
    rlimit limit{};
    getrlimit(RLIMIT_NPROC, &limit);
    throw ConfigurationError(text("fleet: a data loader cannot start its prefetch thread (", error.message(),
                                  "); the user's limit of processes and threads (ulimit -u) is ",
                                  limit.rlim_cur == RLIM_INFINITY ? std::string{"unlimited"} : text(limit.rlim_cur),
                                  ". Raise it, or the container's or the memory limit (ulimit -v), or set .prefetch = "
                                  "0 to read without a thread"));
  }
  return thread;
}

}  // namespace fleet::data::detail
