#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <vector>

#include <fleet/comm/frame.hpp>
#include <fleet/comm/shm/detail/bell.hpp>
#include <fleet/comm/shm/detail/segment.hpp>
#include <fleet/comm/shm/detail/stream.hpp>

namespace fleet::comm::shm {

/// The pieces that one rank sends to and gets from each other one. Pieces of messages that nobody has asked for yet
/// are put aside, so that what comes after them can be reached and their senders go on.
class Mailbox {
 public:
  struct Message {
    Frame frame{};
    std::vector<std::byte> own{};
    std::span<std::byte> room{};  ///< `own`, or memory of whoever waits for the message
    std::size_t filled = 0;

    bool complete() const { return filled == room.size(); }
  };
  /// A message that this rank waits for: it goes straight to its place if it comes after this was said.
  struct Expected {
    int from = -1;
    Frame frame{};
    std::span<std::byte> room{};
  };

  Mailbox(Segment& segment, int rank)
      : segment_(segment), rank_(rank), messages_(static_cast<std::size_t>(segment.size())) {}

  bool has_room(int to) const {
    auto const& channel = segment_.channel(rank_, to);
    return channel.sent.load(std::memory_order_relaxed) - channel.taken.load(std::memory_order_acquire) < channel_depth;
  }
  /// Needs room.
  void put(int to, Frame const& frame, std::span<std::byte const> data) {
    auto& channel = segment_.channel(rank_, to);
    auto const number = channel.sent.load(std::memory_order_relaxed);
    auto& piece = segment_.piece(rank_, to, number);
    piece.frame = frame;
    piece.frame.length = data.size();
    stream(bytes_of(piece), data.data(), data.size());
    publish_streams();
    channel.sent.store(number + 1, std::memory_order_release);
    wake_sleepers(segment_);
  }

  /// The next piece from a rank, or none.
  Piece* front(int from) const {
    auto const& channel = segment_.channel(from, rank_);
    auto const number = channel.taken.load(std::memory_order_relaxed);
    return channel.sent.load(std::memory_order_acquire) == number ? nullptr : &segment_.piece(from, rank_, number);
  }
  static std::byte* bytes_of(Piece& piece) { return reinterpret_cast<std::byte*>(&piece + 1); }
  void pop(int from) {
    auto& channel = segment_.channel(from, rank_);
    channel.taken.store(channel.taken.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    wake_sleepers(segment_);
  }
  bool has_message(int from) const {
    auto const* const piece = front(from);
    return piece != nullptr && piece->frame.kind == FrameKind::message;
  }

  /// Puts the pieces of messages aside that have come from `from`. False where there are none.
  bool put_aside(int from) {
    bool any = false;
    for (; has_message(from); any = true) {
      auto& piece = *front(from);
      auto& list = messages_[static_cast<std::size_t>(from)];
      if (list.empty() || list.back().complete()) start_message(list, from, piece.frame);
      auto& message = list.back();
      auto const length = std::min(
          {static_cast<std::size_t>(piece.frame.length), segment_.piece_bytes(), message.room.size() - message.filled});
      if (length > 0) std::memcpy(message.room.data() + message.filled, bytes_of(piece), length);
      message.filled += length;
      pop(from);
    }
    return any;
  }
  bool put_aside() {
    bool any = false;
    for (int from = 0; from < segment_.size(); ++from)
      if (from != rank_ && put_aside(from)) any = true;
    return any;
  }

  /// The messages that were put aside; those of this rank to itself come here at once.
  std::deque<Message>& aside(int from) { return messages_[static_cast<std::size_t>(from)]; }
  void expect(Expected const& expected) { expected_ = expected; }

 private:
  void start_message(std::deque<Message>& list, int from, Frame const& frame) {
    list.push_back({.frame = frame});
    auto& message = list.back();
    auto const bytes = static_cast<std::size_t>(frame.bytes);
    if (from == expected_.from && frame.tag == expected_.frame.tag && frame.dtype == expected_.frame.dtype &&
        bytes == expected_.room.size()) {
      message.room = expected_.room;
      expected_ = {};
    } else {
      message.own.resize(bytes);
      message.room = message.own;
    }
  }

  Segment& segment_;
  int rank_;
  std::vector<std::deque<Message>> messages_;  // by sender, in the order of their coming
  Expected expected_;
};

}  // namespace fleet::comm::shm
