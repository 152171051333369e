#pragma once
#include <pthread.h>
#include <signal.h>

#include <functional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <fleet/core/error.hpp>
#include <fleet/core/system_reason.hpp>
#include <fleet/core/thread.hpp>

namespace fleet {

FLEET_BODY std::thread start_thread(std::string const& purpose, std::function<void()> body) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // a new thread inherits the mask
  std::thread thread;
  int error = 0;
  try {
    thread = std::thread{std::move(body)};
  } catch (std::system_error const& failure) {
    error = failure.code().value();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0)
    throw ConfigurationError(
        text("fleet: cannot start a thread for ", purpose, ": ", system_reason(error),
             "; threads are limited by ulimit -u, memory for their stacks by ulimit -v, both by the container too"));
  return thread;
}

}  // namespace fleet
