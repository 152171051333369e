#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fleet/comm/frame.hpp>
#include <fleet/core/error.hpp>
#include <fleet/net/socket.hpp>

namespace fleet::comm::tcp {

/// What a try to read has come to.
enum class Progress : unsigned char { done, some, blocked, closed };

/// The data that comes from one peer: frames, read through a small buffer that takes a header and a short piece at one
/// go; longer pieces go straight to where they shall be.
class Inbox {
 public:
  /// Sees to it that `header` is that of the frame to come. An `error` goes with `closed`.
  Progress read_header(net::Socket const& socket, int& error) {
    if (has_header_) return Progress::done;
    while (end_ - begin_ < sizeof(Frame)) {
      if (begin_ > 0) {
        std::copy(buffer_.begin() + position(begin_), buffer_.begin() + position(end_), buffer_.begin());
        end_ -= std::exchange(begin_, 0);
      }
      iovec const room{buffer_.data() + end_, buffer_.size() - end_};
      auto const result = socket.try_receive({&room, 1});
      if (result.state != net::Socket::State::moved) return stopped(result, error);
      end_ += result.bytes;
    }
    std::memcpy(&header_, buffer_.data() + begin_, sizeof header_);
    begin_ += sizeof header_;
    has_header_ = true;
    return Progress::done;
  }
  Frame const& header() const { return header_; }
  /// Whether a frame lies at the head that is no message.
  bool at_a_call() const { return has_header_ && header_.kind != FrameKind::message; }

  /// Reads on into `rest`, the part of the piece that is still missing, and shortens it.
  Progress read_payload(net::Socket const& socket, std::span<std::byte>& rest, int& error) {
    if (auto const here = std::min(rest.size(), end_ - begin_); here > 0) {
      std::memcpy(rest.data(), buffer_.data() + begin_, here);
      begin_ += here;
      rest = rest.subspan(here);
    }
    if (!rest.empty()) {
      begin_ = end_ = 0;
      iovec const room[] = {{rest.data(), rest.size()}, {buffer_.data(), buffer_.size()}};
      auto const result = socket.try_receive(room);
      if (result.state != net::Socket::State::moved) return stopped(result, error);
      auto const here = std::min(rest.size(), result.bytes);
      rest = rest.subspan(here);
      end_ = result.bytes - here;
    }
    if (!rest.empty()) return Progress::some;
    has_header_ = false;
    return Progress::done;
  }

 private:
  static Progress stopped(net::Socket::Result const& result, int& error) {
    error = result.error;
    return result.state == net::Socket::State::closed ? Progress::closed : Progress::blocked;
  }
  static std::ptrdiff_t position(std::size_t at) { return static_cast<std::ptrdiff_t>(at); }

  std::array<std::byte, 4096> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  Frame header_{};
  bool has_header_ = false;
};

/// A frame on its way out: header and data leave together.
struct Outgoing {
  Frame header{};
  std::span<std::byte const> data{};
  std::size_t sent = 0;

  bool done() const { return sent == sizeof header + data.size(); }
  net::Socket::Result send(net::Socket const& socket) {
    auto* const start = reinterpret_cast<std::byte*>(&header);
    std::size_t const of_header = std::min(sent, sizeof header), of_data = sent - of_header;
    iovec const pieces[] = {{start + of_header, sizeof header - of_header},
                            {const_cast<std::byte*>(data.data()) + of_data, data.size() - of_data}};
    auto const result = socket.try_send(pieces);
    sent += result.bytes;
    return result;
  }
};

/// A message that came before it was asked for.
struct Message {
  Frame header;
  std::vector<std::byte> data;
};

/// All that joins this rank to one other.
struct Link {
  net::Socket data, control;
  std::string name;  ///< "rank 2 at 10.0.0.2:4711"

  Inbox inbox{};
  std::deque<Message> messages{};
  Message coming{};                ///< a message that is being read
  std::span<std::byte> missing{};  ///< what of it has not come yet
  bool coming_open = false, data_open = true;

  std::string control_in{}, control_out{};
  bool control_open = true, left = false;
  bool heard = false;  ///< since the last question, who it waits for
  int waits_for = -1;
  Frame call{};  ///< the last one that it told of
  std::map<std::uint64_t, std::string> refused{};
};

}  // namespace fleet::comm::tcp
