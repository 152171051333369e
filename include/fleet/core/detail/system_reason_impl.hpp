#pragma once
#include <sys/resource.h>

#include <cerrno>
#include <string>
#include <system_error>

#include <fleet/core/error.hpp>
#include <fleet/core/system_reason.hpp>

namespace fleet {

FLEET_BODY std::string system_reason(int error) {
  std::string reason = std::generic_category().message(error);
  rlimit limit{};
  if (error == EMFILE && getrlimit(RLIMIT_NOFILE, &limit) == 0)
    return text(reason, " (this process may have ", limit.rlim_cur,
                " descriptors, RLIMIT_NOFILE: raise it with ulimit -n)");
  if (error == ENFILE) return text(reason, " (all processes together, see /proc/sys/fs/file-max)");
  if (error == EAGAIN && getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    return text(reason, " (this user may have ", limit.rlim_cur, " threads, RLIMIT_NPROC: raise it with ulimit -u)");
  if (error == EADDRINUSE) return text(reason, "; end what listens there, or choose another port, or 0 for any");
  if (error == EADDRNOTAVAIL) return text(reason, "; no interface of this host has the address");
  if (error == EACCES) return text(reason, "; ports below 1024 are the system's");
  return reason;
}

FLEET_BODY void throw_if_limit(std::string const& what, int error) {
  if (error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM)
    throw ConfigurationError("fleet: " + what + ": " + system_reason(error));
}

}  // namespace fleet
