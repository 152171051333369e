#pragma once
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <fleet/core/deadline.hpp>
#include <fleet/job/environment.hpp>

namespace test {

using Clock = std::chrono::steady_clock;

inline std::vector<std::string> lines_of(std::string const& text) {
  std::istringstream stream{text};
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// A fleetrun that runs in a folder; output and error stream arrive together, as on a terminal.
class Fleetrun {
 public:
  using Variables = fleet::Environment::Variables;

  Fleetrun(std::string const& folder, std::vector<std::string> arguments, Variables const& changes = {}) {
    static int started = 0;
    mark_ = "FLEET_TEST_MARK=" + std::to_string(::getpid()) + "." + std::to_string(++started);
    auto variables = fleet::Environment::of_process().variables();
    for (char const* name : {"OMP_NUM_THREADS", "FLEET_JOB_TOKEN", "POD_IP", "SYS_JOB_ID", "CUDA_VISIBLE_DEVICES"})
      variables.erase(name);
    for (auto const& [name, value] : changes) variables[name] = value;
    arguments.insert(arguments.begin(), FLEETRUN);
    std::vector<std::string> pairs{mark_};
    for (auto const& [name, value] : variables) pairs.push_back(name + "=" + value);
    std::vector<char*> words, environment;
    for (auto& word : arguments) words.push_back(word.data());
    for (auto& pair : pairs) environment.push_back(pair.data());
    words.push_back(nullptr);
    environment.push_back(nullptr);

    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(ends[1], 1);
      ::dup2(ends[1], 2);
      if (::chdir(folder.c_str()) == 0) ::execve(FLEETRUN, words.data(), environment.data());
      ::_exit(99);
    }
    ::close(ends[1]);
    output_ = ends[0];
  }
  ~Fleetrun() {
    if (!ended_) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    ::close(output_);
  }
  Fleetrun(Fleetrun const&) = delete;
  Fleetrun& operator=(Fleetrun const&) = delete;

  pid_t pid() const { return pid_; }
  void send(int signal_number) const { ::kill(pid_, signal_number); }

  /// Reads on until the text has been printed; false if it was not in time, or the output is over.
  bool await(std::string const& text, std::chrono::milliseconds timeout = std::chrono::seconds{20}) {
    auto const deadline = fleet::Deadline::after(timeout);
    while (printed_.find(text) == std::string::npos)
      if (!read_some(deadline)) return false;
    return true;
  }

  /// Reads to the end and returns the exit status: 128 + the signal if one ended fleetrun, -1 if it runs on.
  int wait(std::chrono::milliseconds timeout = std::chrono::seconds{40}) {
    auto const deadline = fleet::Deadline::after(timeout);
    while (read_some(deadline)) {
    }
    int status = 0;
    pid_t done = 0;
    while ((done = ::waitpid(pid_, &status, WNOHANG)) == 0 && !deadline.passed()) ::usleep(2000);
    if (done != pid_) return -1;
    ended_ = true;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  std::string const& printed() const { return printed_; }

  /// The processes that carry this run's mark in their environment: those that it started, directly or not.
  std::vector<pid_t> running() const {
    std::vector<pid_t> found;
    for (auto const& entry : std::filesystem::directory_iterator{"/proc"}) {
      auto const name = entry.path().filename().string();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      std::ifstream file{entry.path() / "environ", std::ios::binary};
      std::string const content{std::istreambuf_iterator<char>{file}, {}};
      if (content.find(mark_) != std::string::npos) found.push_back(static_cast<pid_t>(std::stol(name)));
    }
    return found;
  }
  /// Whether all of them end in time.
  bool nothing_left(std::chrono::milliseconds timeout = std::chrono::seconds{5}) const {
    auto const deadline = fleet::Deadline::after(timeout);
    while (!running().empty()) {
      if (deadline.passed()) return false;
      ::usleep(5000);
    }
    return true;
  }

 private:
  bool read_some(fleet::Deadline deadline) {
    pollfd polled{.fd = output_, .events = POLLIN, .revents = 0};
    if (::poll(&polled, 1, static_cast<int>(deadline.remaining().count())) <= 0) return false;
    char piece[65536];
    auto const count = ::read(output_, piece, sizeof piece);
    if (count <= 0) return false;
    printed_.append(piece, static_cast<std::size_t>(count));
    return true;
  }

  std::string mark_, printed_;
  pid_t pid_ = -1;
  int output_ = -1;
  bool ended_ = false;
};

}  // namespace test
