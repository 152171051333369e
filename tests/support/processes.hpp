#pragma once
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace test {

/// What became of a process: what its function returned or threw, how it ended, and when.
struct Outcome {
  std::string text;    ///< what the function returned; "error: ..." where it threw
  int status = 0;      ///< as waitpid tells it
  double seconds = 0;  ///< from `go` to its end

  bool killed_by(int signal) const { return WIFSIGNALED(status) && WTERMSIG(status) == signal; }
  bool contains(std::string const& part) const { return text.find(part) != std::string::npos; }
};

/// Functions that run in forked processes of their own. They are forked before anything else happens, so that no
/// thread is lost, and start at `go`, which gives each the same word (the endpoint of a store, say).
class Processes {
 public:
  using Main = std::function<std::string(int index, std::string const& word)>;

  Processes(int count, Main const& main) {
    for (int index = 0; index < count; ++index) {
      int word[2], result[2];
      if (::pipe(word) != 0 || ::pipe(result) != 0) throw std::runtime_error("no pipe");
      pid_t const pid = ::fork();
      if (pid == 0) {
        ::close(word[1]);
        ::close(result[0]);
        for (auto const& other : children_) {
          ::close(other.word);
          ::close(other.result);
        }
        std::string const got = read_all(word[0]);
        ::close(word[0]);
        std::string out;
        try {
          out = main(index, got);
        } catch (std::exception const& error) {
          out = std::string{"error: "} + error.what();
        }
        write_all(result[1], out);
        ::_exit(0);
      }
      ::close(word[0]);
      ::close(result[1]);
      children_.push_back({pid, word[1], result[0]});
    }
  }
  Processes(Processes const&) = delete;
  Processes& operator=(Processes const&) = delete;
  ~Processes() {
    for (auto& child : children_) {
      if (child.word >= 0) ::close(child.word);
      if (child.result >= 0) ::close(child.result);
      if (child.ended) continue;
      ::kill(child.pid, SIGKILL);
      ::waitpid(child.pid, nullptr, 0);
    }
  }

  void go(std::string const& word) {
    start_ = std::chrono::steady_clock::now();
    for (auto& child : children_) {
      write_all(child.word, word);
      ::close(child.word);
      child.word = -1;
    }
  }
  void signal(int index, int number) const { ::kill(children_[static_cast<std::size_t>(index)].pid, number); }

  /// The end of one process; what has not ended within the limit is killed.
  Outcome wait(int index, std::chrono::milliseconds limit = std::chrono::seconds{60}) {
    auto& child = children_[static_cast<std::size_t>(index)];
    Outcome out;
    out.text = read_all(child.result, static_cast<int>(limit.count()));
    pollfd entry{child.result, POLLIN, 0};
    if (::poll(&entry, 1, 0) == 0) ::kill(child.pid, SIGKILL);
    ::waitpid(child.pid, &out.status, 0);
    child.ended = true;
    out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    return out;
  }
  std::vector<Outcome> wait_all() {
    std::vector<Outcome> out;
    for (int index = 0; index < static_cast<int>(children_.size()); ++index) out.push_back(wait(index));
    return out;
  }

 private:
  struct Child {
    pid_t pid;
    int word, result;
    bool ended = false;
  };

  static std::string read_all(int descriptor, int limit_ms = -1) {
    std::string out;
    char buffer[4096];
    for (;;) {
      pollfd entry{descriptor, POLLIN, 0};
      if (::poll(&entry, 1, limit_ms) <= 0) return out;
      auto const got = ::read(descriptor, buffer, sizeof buffer);
      if (got <= 0) return out;
      out.append(buffer, static_cast<std::size_t>(got));
    }
  }
  static void write_all(int descriptor, std::string const& bytes) {
    for (std::size_t done = 0; done < bytes.size();) {
      auto const put = ::write(descriptor, bytes.data() + done, bytes.size() - done);
      if (put <= 0) return;
      done += static_cast<std::size_t>(put);
    }
  }

  std::vector<Child> children_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace test
