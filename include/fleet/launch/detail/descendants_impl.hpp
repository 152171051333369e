#pragma once
#include <dirent.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fleet/launch/descendants.hpp>

namespace fleet::launch {
namespace detail {

/// The parent, from a line like "12 (a name) S 11 ..."; -1 where the process is gone.
inline pid_t parent_of(std::string const& process) {
  std::ifstream file{"/proc/" + process + "/stat"};
  std::string line;
  std::getline(file, line);
  auto const name_end = line.rfind(')');
  if (name_end == std::string::npos || name_end + 4 > line.size()) return -1;
  pid_t parent = -1;
  std::from_chars(line.data() + name_end + 4, line.data() + line.size(), parent);
  return parent;
}

inline std::vector<pid_t> children() {
  std::vector<pid_t> found;
  DIR* const folder = ::opendir("/proc");
  if (!folder) return found;
  while (auto const* entry = ::readdir(folder)) {
    std::string const name = entry->d_name;
    if (name.find_first_not_of("0123456789") == std::string::npos && parent_of(name) == ::getpid())
      found.push_back(static_cast<pid_t>(std::stol(name)));
  }
  ::closedir(folder);
  return found;
}

}  // namespace detail

FLEET_BODY void adopt_orphans() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }

FLEET_BODY bool end_descendants(Deadline deadline) {
  while (true) {
    pid_t reaped;
    while ((reaped = ::waitpid(-1, nullptr, WNOHANG)) > 0) {
    }
    if (reaped < 0 && errno == ECHILD) return true;
    if (deadline.passed()) return false;
    for (pid_t const child : detail::children()) ::kill(child, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
  }
}

}  // namespace fleet::launch
