#pragma once
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>

#include <fleet/core/error.hpp>
#include <fleet/job/meeting.hpp>
#include <fleet/net/token.hpp>

namespace fleet {
namespace detail {

/// Tells a process from a later one with the same number: when it started, in ticks since boot; empty if it is gone.
inline std::string start_of_process(std::string const& pid) {
  std::ifstream file{"/proc/" + pid + "/stat"};
  std::string line;
  std::getline(file, line);
  auto const name_end = line.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream rest{line.substr(name_end + 1)};
  std::string state, word;
  rest >> state;
  for (int field = 4; field <= 22; ++field) rest >> word;
  return state == "Z" || state == "X" ? std::string{} : word;
}

[[noreturn]] inline void throw_meeting_error(std::string const& path, std::string_view what) {
  throw ConfigurationError(text("fleet: the workers of this host cannot meet by the file ", path, ": ", what,
                                "; set TMPDIR to a folder of your own, or FLEET_STORE_ENDPOINT=host:port and "
                                "FLEET_JOB_TOKEN on all workers"));
}

/// Nobody else may put a file there, or read ours.
inline void make_private_folder(std::string const& path) {
  auto const folder = path.substr(0, path.rfind('/'));
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) throw_meeting_error(path, std::strerror(errno));
  struct stat status {};
  if (::lstat(folder.c_str(), &status) != 0) throw_meeting_error(path, std::strerror(errno));
  if (!S_ISDIR(status.st_mode) || status.st_uid != ::geteuid() || (status.st_mode & 077) != 0)
    throw_meeting_error(path, "its folder is not one that belongs to this user alone");
}

struct MeetingFile {
  Meeting meeting;
  std::string pid, start;

  bool owner_lives() const { return !start.empty() && start_of_process(pid) == start; }
  bool is_ours() const { return pid == text(::getpid()) && owner_lives(); }
};

inline std::optional<MeetingFile> read_meeting(std::string const& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return std::nullopt;
  if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid() || (status.st_mode & 077) != 0)
    throw_meeting_error(path, "it is not a file that belongs to this user alone");
  std::ifstream file{path};
  MeetingFile found;
  if (!(file >> found.meeting.store >> found.meeting.token >> found.pid >> found.start)) return std::nullopt;
  return found;
}

}  // namespace detail

FLEET_BODY std::string meeting_path(Environment const& environment, std::string_view key) {
  auto const digest = net::sha256(key);
  return text(environment.get("TMPDIR").value_or("/tmp"), "/fleet-", ::geteuid(), "/",
              net::hex(net::view(digest)).substr(0, 32));
}

FLEET_BODY Meeting publish_meeting(std::string const& path, Meeting const& own) {
  detail::make_private_folder(path);
  auto const fresh = text(path, ".", ::getpid(), ".", net::hex(net::random_bytes(4)));
  auto const pid = text(::getpid());
  auto const content = text(own.store, "\n", own.token, "\n", pid, "\n", detail::start_of_process(pid), "\n");
  int const file = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) detail::throw_meeting_error(path, std::strerror(errno));
  bool const whole = ::write(file, content.data(), content.size()) == static_cast<ssize_t>(content.size());
  ::close(file);
  std::optional<detail::MeetingFile> other;
  bool published = false;
  int reason = whole ? 0 : errno;
  while (whole && !published && !other) {
    published = ::link(fresh.c_str(), path.c_str()) == 0;
    if (published) break;
    reason = errno;
    if (reason != EEXIST) break;
    other = detail::read_meeting(path);
    if (other && !other->owner_lives()) {
      ::unlink(path.c_str());
      other.reset();
    }
  }
  ::unlink(fresh.c_str());
  if (other) return other->meeting;
  if (!published) detail::throw_meeting_error(path, std::strerror(reason));
  return own;
}

FLEET_BODY Meeting await_meeting(std::string const& path, Deadline deadline) {
  while (true) {
    if (auto const found = detail::read_meeting(path); found && found->owner_lives()) return found->meeting;
    if (deadline.passed())
      throw TransportError(TransportError::Cause::silent, 0, "rendezvous",
                           text("fleet: the first worker did not come: nobody has written ", path,
                                " in time; see whether rank 0 was started on this host and by this user, or give more "
                                "time with FLEET_TIMEOUT"));
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
}

FLEET_BODY void end_meeting(std::string const& path) {
  if (auto const found = detail::read_meeting(path); found && found->is_ours()) ::unlink(path.c_str());
}

FLEET_BODY void arrange_meeting(Role& role, Environment const& environment, bool one_host, std::string const& key,
                                std::string const& default_store) {
  role.token = environment.get("FLEET_JOB_TOKEN").value_or("");
  role.store = environment.get("FLEET_STORE_ENDPOINT").value_or("");
  if (role.worker_num == 1 && role.server_endpoints.empty()) return;
  if (role.store.empty() && one_host) {
    role.meeting_file = meeting_path(environment, key);
    return;
  }
  std::string missing;
  if (role.store.empty()) role.store = default_store;
  if (role.store.empty())
    missing = "FLEET_STORE_ENDPOINT=host:port (an address of rank 0's host and a free port there)";
  if (role.token.empty()) missing = text(missing, missing.empty() ? "" : " and ", "FLEET_JOB_TOKEN (any secret)");
  if (!missing.empty())
    throw ConfigurationError(text("fleet: ", role.source, " started this as worker ", role.index, " of ",
                                  role.worker_num, " on ", one_host ? "one host" : "several hosts",
                                  "; to find each other they need ", missing, ", the same on every worker"));
}

}  // namespace fleet
