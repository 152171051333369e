#pragma once
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace fleet::launch {

enum class Stream : std::uint8_t { output, error };

/// The two streams of this process as whole lines, queued so that a slow reader never blocks the one who writes.
/// Where both lead to the same place their lines keep their common order.
class Console {
 public:
  Console() {
    struct stat output {
    }, error{};
    one_place_ = ::fstat(1, &output) == 0 && ::fstat(2, &error) == 0 && output.st_dev == error.st_dev &&
                 output.st_ino == error.st_ino;
  }

  void add(Stream stream, std::string_view prefix, std::string_view line) {
    auto& queue = queue_of(stream);
    if (queue.gone) return;
    queue.bytes += prefix;
    queue.bytes += line;
    queue.bytes += '\n';
  }

  std::size_t waiting() const { return queues_[0].waiting() + queues_[1].waiting(); }

  /// The descriptors that poll should watch for room; an entry is off where nothing waits.
  std::array<pollfd, 2> watched() const {
    return {pollfd{.fd = queues_[0].waiting() ? 1 : -1, .events = POLLOUT, .revents = 0},
            pollfd{.fd = queues_[1].waiting() ? 2 : -1, .events = POLLOUT, .revents = 0}};
  }

  /// Writes what `watched`, after a poll, has room for. A reader that went away loses its stream, and only that.
  void write(std::span<pollfd const, 2> polled) {
    for (std::size_t i = 0; i < 2; ++i)
      if (polled[i].fd >= 0 && polled[i].revents != 0) queues_[i].write(polled[i].fd);
    if (queues_[0].gone && !one_place_ && !told_)
      add(Stream::error, "fleetrun: ", "nobody reads the output stream any more; the log files hold the rest");
    told_ = queues_[0].gone;
  }

 private:
  struct Queue {
    std::string bytes;
    std::size_t written = 0;
    bool gone = false;

    std::size_t waiting() const { return bytes.size() - written; }

    void write(int descriptor) {
      // A pipe that polls as writable takes PIPE_BUF bytes without blocking.
      auto const count = ::write(descriptor, bytes.data() + written, std::min<std::size_t>(waiting(), 4096));
      if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
      if (count < 0) {
        gone = true;
        written = bytes.size();
      } else {
        written += static_cast<std::size_t>(count);
      }
      if (written == bytes.size() || written > (std::size_t{1} << 20)) {
        bytes.erase(0, written);
        written = 0;
      }
    }
  };

  Queue& queue_of(Stream stream) { return queues_[one_place_ || stream == Stream::output ? 0 : 1]; }

  std::array<Queue, 2> queues_;
  bool one_place_ = false, told_ = false;
};

}  // namespace fleet::launch
