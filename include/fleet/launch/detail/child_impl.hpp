#pragma once
#include <dirent.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <fleet/core/error.hpp>
#include <fleet/core/system_reason.hpp>
#include <fleet/launch/child.hpp>
#include <fleet/launch/program.hpp>

namespace fleet::launch {
namespace detail {

[[noreturn]] inline void throw_start_error(ProcessSpec const& process, char const* what, int error) {
  throw Error(text("fleetrun: cannot start ", process.label, ": ", what, ": ", system_reason(error)));
}

struct Pipe {
  Descriptor reader, writer;
};

inline Pipe make_pipe(ProcessSpec const& process) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw_start_error(process, "no pipe", errno);
  return {Descriptor{ends[0]}, Descriptor{ends[1]}};
}

/// Everything that the new process does before its program runs: system calls alone, for it may share locks that
/// other threads held. Returns only if one of them fails.
inline void become(ChildSetup const& setup, pid_t launcher, int input, int output, int error, char* const* arguments,
                   char* const* environment) {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != launcher) ::_exit(127);
  ::setpgid(0, 0);
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (int const number : {SIGPIPE, SIGTTOU}) ::sigaction(number, &action, nullptr);
  if (::dup2(input, 0) < 0 || ::dup2(output, 1) < 0 || ::dup2(error, 2) < 0) return;
  unsigned first = 3;
  for (int const kept : setup.kept_descriptors) {
    auto const number = static_cast<unsigned>(kept);
    if (number < first) continue;
    if (number > first) ::close_range(first, number - 1, CLOSE_RANGE_CLOEXEC);
    first = number + 1;
  }
  ::close_range(first, ~0U, CLOSE_RANGE_CLOEXEC);
  ::sigprocmask(SIG_SETMASK, &setup.signal_mask, nullptr);
  ::execve(setup.program.c_str(), arguments, environment);
}

}  // namespace detail

FLEET_BODY std::vector<int> open_descriptors() {
  std::vector<int> numbers;
  DIR* const folder = ::opendir("/proc/self/fd");
  if (!folder) return numbers;
  while (auto const* entry = ::readdir(folder))
    if (int const number = std::atoi(entry->d_name); entry->d_name[0] != '.' && number != ::dirfd(folder))
      numbers.push_back(number);
  ::closedir(folder);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

FLEET_BODY Child start_child(ChildSetup const& setup, ProcessSpec const& process) {
  auto variables = setup.inherited;
  for (auto const& [name, value] : process.environment) variables[name] = value;
  std::vector<std::string> pairs;
  for (auto const& [name, value] : variables) pairs.push_back(name + "=" + value);
  std::vector<char*> arguments, environment;
  for (auto const& word : setup.command) arguments.push_back(const_cast<char*>(word.c_str()));
  for (auto const& pair : pairs) environment.push_back(const_cast<char*>(pair.c_str()));
  arguments.push_back(nullptr);
  environment.push_back(nullptr);

  Descriptor const null{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
  if (!null) detail::throw_start_error(process, "/dev/null", errno);
  auto output = detail::make_pipe(process), error = detail::make_pipe(process), failure = detail::make_pipe(process);
  pid_t const launcher = ::getpid();

  Child child;
  child.pid = ::fork();
  if (child.pid < 0) detail::throw_start_error(process, "no new process", errno);
  if (child.pid == 0) {
    detail::become(setup, launcher, null.get(), output.writer.get(), error.writer.get(), arguments.data(),
                   environment.data());
    int const reason = errno;
    [[maybe_unused]] auto const told = ::write(failure.writer.get(), &reason, sizeof reason);
    ::_exit(127);
  }
  ::setpgid(child.pid, child.pid);
  failure.writer.reset();
  int reason = 0;
  ssize_t count;
  while ((count = ::read(failure.reader.get(), &reason, sizeof reason)) < 0 && errno == EINTR) {
  }
  child.handle = Descriptor{count == 0 ? static_cast<int>(::syscall(SYS_pidfd_open, child.pid, 0)) : -1};
  if (!child.handle) {
    int const no_handle = errno;
    ::kill(child.pid, SIGKILL);
    ::waitpid(child.pid, nullptr, 0);
    if (count == 0) detail::throw_start_error(process, "no handle on the process", no_handle);
    throw ProgramError(
        126, text("fleetrun: cannot execute ", setup.program, ": ", std::strerror(reason),
                  reason == ENOEXEC
                      ? "; it is neither a program nor a script that names its interpreter (#!) in its first line"
                      : ""));
  }
  child.output = std::move(output.reader);
  child.error = std::move(error.reader);
  for (auto const* stream : {&child.output, &child.error}) ::fcntl(stream->get(), F_SETFL, O_NONBLOCK);
  return child;
}

}  // namespace fleet::launch
