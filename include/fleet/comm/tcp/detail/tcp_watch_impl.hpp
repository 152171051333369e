#pragma once
#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fleet/comm/tcp/detail/tcp_transport.hpp>
#include <fleet/core/error.hpp>
#include <fleet/core/system_reason.hpp>

namespace fleet::comm::tcp {
namespace detail {

/// After so long a wait the others are told of it, so that a mismatch is found before the deadline.
constexpr std::chrono::milliseconds announce_after{250};
/// How long the others have to say for whom they wait, after the deadline.
constexpr std::chrono::milliseconds grace_time{1000};

}  // namespace detail

FLEET_BODY std::string TcpTransport::name(int rank) const {
  if (rank != this->rank()) return links_[static_cast<std::size_t>(rank)]->name;
  int const label = membership_.labels[static_cast<std::size_t>(rank)];
  return label == rank ? text("rank ", rank) : text("rank ", rank, " (rank ", label, " of all)");
}

FLEET_BODY void TcpTransport::rest(int in, int out) {
  if (eager_) {
    auto const now = Clock::now();
    if (idle_since_ == Clock::time_point{}) idle_since_ = now;
    if (now - idle_since_ < spin_) return;
    spin_ = std::max(spin_ / 2, shortest_spin);
  }
  pause(in, out);
}

FLEET_BODY void TcpTransport::moved() {
  if (idle_since_ == Clock::time_point{}) return;
  if (Clock::now() - idle_since_ < spin_) spin_ = std::min(spin_ * 2, longest_spin);
  idle_since_ = {};
}

FLEET_BODY void TcpTransport::pause(int in, int out) {
  int const other = in >= 0 ? in : out;
  waits_for_ = other;
  auto const now = Clock::now();
  if (grace_ && grace_->passed()) expire(other);
  if (!grace_ && deadline_.passed()) {
    grace_ = Deadline::after(detail::grace_time);
    for (auto const& one : links_)
      if (one) one->heard = false;
    tell_whom_we_wait_for(other, true);
  } else if (!announced_ && now - started_ > detail::announce_after) {
    announced_ = true;
    tell_whom_we_wait_for(other, false);
  }
  auto next = grace_ ? *grace_ : deadline_;
  if (!announced_) next = std::min(next, Deadline{started_ + detail::announce_after});
  poll(in, out, static_cast<int>(std::min<std::int64_t>(next.remaining().count(), 60'000)));
  waits_for_ = -1;
}

FLEET_BODY void TcpTransport::poll(int in, int out, int timeout) {
  polled_.clear();
  polled_.push_back({wake_, POLLIN, 0});
  for (int other = 0; other < size(); ++other) {
    pollfd data{-1, 0, 0}, control{-1, 0, 0};
    if (other != rank()) {
      auto const& one = link(other);
      // Messages are taken in whenever they come: the sender may wait for that, and others for the sender.
      bool const reads = other == in || (one.data_open && !one.inbox.at_a_call());
      data = {one.data.descriptor(), static_cast<short>((reads ? POLLIN : 0) | (other == out ? POLLOUT : 0)), 0};
      if (data.events == 0) data.fd = -1;
      std::lock_guard lock{control_mutex_};
      if (one.control_open)
        control = {one.control.descriptor(), static_cast<short>(one.control_out.empty() ? POLLIN : POLLIN | POLLOUT),
                   0};
    }
    polled_.push_back(data);
    polled_.push_back(control);
  }
  ::poll(polled_.data(), polled_.size(), timeout);
  listened_ = Clock::now();
  if (interrupted_)
    fail(TransportError::Cause::aborted, rank(), rank(),
         text(name(rank()), " destroyed its communicator with a call under way"));
  for (int other = 0; other < size(); ++other) {
    auto const at = 1 + 2 * static_cast<std::size_t>(other);
    auto const data = polled_[at].revents, control = polled_[at + 1].revents;
    if ((control & POLLOUT) != 0) {
      std::lock_guard lock{control_mutex_};
      flush(link(other));
    }
    if ((control & ~POLLOUT) != 0) listen(other);
    if (other != in && (data & ~POLLOUT) != 0)
      while (stash(other)) continue;
  }
}

FLEET_BODY void TcpTransport::tell_whom_we_wait_for(int other, bool asks, int only) {
  ControlHeader header{.notice = Notice::waiting, .asks = asks, .guilty = other, .call = call_};
  if (only >= 0)
    tell(only, header, {});
  else
    tell_all(header, {});
}

FLEET_BODY void TcpTransport::expire(int other) {
  std::vector<bool> seen(static_cast<std::size_t>(size()));
  seen[static_cast<std::size_t>(rank())] = true;
  int guilty = other;
  while (!seen[static_cast<std::size_t>(guilty)] && link(guilty).heard && link(guilty).waits_for >= 0) {
    seen[static_cast<std::size_t>(guilty)] = true;
    guilty = link(guilty).waits_for;
  }
  if (seen[static_cast<std::size_t>(guilty)] && same_call(link(other).call, call_))
    fail(TransportError::Cause::silent, other, rank(),
         text(name(rank()), " and ", name(other),
              " wait for each other's data; the network between them is cut, or too slow for the time allowed"));
  if (seen[static_cast<std::size_t>(guilty)])
    fail(TransportError::Cause::mismatch, other, rank(),
         text("the ranks wait for each other: ", name(other), " called ", describe(link(other).call)));
  fail(
      TransportError::Cause::silent, guilty, rank(),
      text(name(guilty), " was not heard from within the time allowed; it may be stopped, busy elsewhere, or cut off"));
}

FLEET_BODY void TcpTransport::listen(int from) {
  auto& other = link(from);
  std::array<char, 4096> buffer;
  while (other.control_open) {
    iovec const room{buffer.data(), buffer.size()};
    auto const result = other.control.try_receive({&room, 1});
    if (result.state == net::Socket::State::would_block) break;
    if (result.state == net::Socket::State::closed) other.control_open = false;
    other.control_in.append(buffer.data(), result.bytes);
  }
  ControlHeader header;
  std::string words;
  bool sound = true;
  while (decode(other.control_in, size(), header, words, sound)) heed(from, header, words);
  if (!sound) {
    other.control_open = false;
    fail(TransportError::Cause::mismatch, from, rank(), text(other.name, " sent a notice that is none"));
  }
}

FLEET_BODY void TcpTransport::heed(int from, ControlHeader const& header, std::string const& words) {
  auto& other = link(from);
  switch (header.notice) {
    case Notice::goodbye:
      other.left = true;
      return;
    case Notice::failed:
      // A later call failed. This one may still end well: whoever has gone further has sent what belongs to it.
      later_failure_ = {header, words};
      if (!in_call_ || call_.kind == FrameKind::message || header.call.number <= call_.number) pass_on_failure();
      return;
    case Notice::refused:
      other.refused[header.call.number] = words;
      if (in_call_ && call_.kind != FrameKind::message && call_.number == header.call.number) refused(from, words);
      return;
    case Notice::waiting:
      other.heard = true;
      other.waits_for = header.guilty;
      other.call = header.call;
      if (in_call_) compare_calls(from);
      if (header.asks != 0 && in_call_ && waits_for_ >= 0) tell_whom_we_wait_for(waits_for_, false, from);
      return;
  }
}

FLEET_BODY void TcpTransport::compare_calls(int other) {
  auto const& theirs = link(other).call;
  if (call_.kind != FrameKind::message && theirs.kind == call_.kind && theirs.number == call_.number &&
      !same_call(theirs, call_))
    mismatch(other, theirs);
}

FLEET_BODY void TcpTransport::tell(int to, ControlHeader const& header, std::string_view text) {
  std::lock_guard lock{control_mutex_};
  auto& other = link(to);
  // One who does not listen is not told everything: it would have to be kept.
  if (header.notice == Notice::waiting && !other.control_out.empty()) return;
  other.control_out += encode(header, text);
  flush(other);
}

FLEET_BODY void TcpTransport::flush(Link& other) {
  while (!other.control_out.empty()) {
    iovec const piece{other.control_out.data(), other.control_out.size()};
    auto const result = other.control.try_send({&piece, 1});
    if (result.state == net::Socket::State::would_block) return;
    if (result.state == net::Socket::State::closed)
      other.control_out.clear();
    else
      other.control_out.erase(0, result.bytes);
  }
}

FLEET_BODY void TcpTransport::tell_all(ControlHeader const& header, std::string_view text) {
  for (int other = 0; other < size(); ++other)
    if (other != rank()) tell(other, header, text);
}

FLEET_BODY void TcpTransport::refuse(std::uint64_t number, std::string const& why) {
  {
    std::lock_guard lock{control_mutex_};
    refused_[number] = why;
  }
  tell_all({.notice = Notice::refused, .call = {.number = number}}, why);
}

FLEET_BODY void TcpTransport::interrupt() {
  interrupted_ = true;
  std::uint64_t const one = 1;
  static_cast<void>(::write(wake_, &one, sizeof one));
}

FLEET_BODY void TcpTransport::leave() {
  if (!failed_) tell_all({.notice = Notice::goodbye}, {});
  for (auto const& one : links_) {
    if (!one) continue;
    one->data.close();
    one->control.close();
  }
}

FLEET_BODY void TcpTransport::end_call(TransportError::Cause cause, int peer, std::string const& reason) const {
  throw TransportError(cause, peer, std::string{comm::name(call_.operation)},
                       text("fleet: ", describe(call_), " on ", name(rank()), " of ", size(), " failed: ", reason));
}

FLEET_BODY void TcpTransport::fail(TransportError::Cause cause, int guilty, int partner, std::string const& reason) {
  if (!std::exchange(failed_, true))
    tell_all({.notice = Notice::failed, .cause = cause, .guilty = guilty, .partner = partner, .call = call_}, reason);
  end_call(cause, guilty == rank() ? partner : guilty, reason);
}

FLEET_BODY void TcpTransport::pass_on_failure() {
  auto const& [header, words] = *later_failure_;
  // Those who see this rank go shall know the reason, even where it has not reached them yet.
  if (!std::exchange(failed_, true)) tell_all(header, words);
  end_call(header.cause, header.guilty == rank() ? header.partner : header.guilty, words);
}

FLEET_BODY void TcpTransport::lost(int other, int error) {
  // A notice that says why may be under way on the control connections.
  auto const until = Deadline::after(std::chrono::milliseconds{300});
  for (int one = 0; one < size(); ++one)
    if (one != rank()) listen(one);
  while (link(other).control_open && !link(other).left && !until.passed())
    poll(-1, -1, static_cast<int>(until.remaining().count()));
  if (later_failure_) pass_on_failure();
  if (link(other).left)
    fail(TransportError::Cause::left, other, rank(),
         text(name(other), " has left the group, while others still need it"));
  fail(TransportError::Cause::lost, other, rank(),
       text("the connection to ", name(other), " broke (", error == 0 ? "closed by it" : system_reason(error),
            "); its process has ended, or the network failed"));
}

FLEET_BODY void TcpTransport::mismatch(int other, Frame const& theirs) {
  {
    std::unique_lock lock{control_mutex_};
    auto const at = refused_.find(theirs.number);
    if (at != refused_.end() && theirs.kind != FrameKind::message) {
      auto const why = at->second;
      lock.unlock();
      refused(rank(), why);
    }
  }
  fail(TransportError::Cause::mismatch, other, rank(),
       text(name(other), " called ", describe(theirs), "; ", name(rank()), " called ", describe(call_),
            "; all ranks must make the same calls in the same order"));
}

FLEET_BODY void TcpTransport::refused(int by, std::string const& why) {
  fail(TransportError::Cause::aborted, by, by,
       text(name(by), " did not make a call, as its arguments were wrong there: ", why));
}

}  // namespace fleet::comm::tcp
