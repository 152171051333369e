#pragma once
#include <sys/resource.h>

#include <string>
#include <system_error>

#include <fleet/data/detail/reader.hpp>

namespace fleet::data::detail {

FLEET_BODY std::thread start_reader(std::function<void()> body) try {
  return std::thread{std::move(body)};
} catch (std::system_error const& error) {
  rlimit limit{};
  getrlimit(RLIMIT_NPROC, &limit);
  throw Error(text("fleet: a data loader cannot start its prefetch thread (", error.what(),
                   "); the user's limit of processes and threads (ulimit -u) is ",
                   limit.rlim_cur == RLIM_INFINITY ? std::string{"unlimited"} : text(limit.rlim_cur),
                   ". Raise it, or the container's, or set .prefetch = 0 to read without a thread"));
}

}  // namespace fleet::data::detail
