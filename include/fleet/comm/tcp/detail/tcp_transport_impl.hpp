#pragma once
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fleet/comm/partition.hpp>
#include <fleet/comm/ring.hpp>
#include <fleet/comm/tcp/detail/mesh.hpp>
#include <fleet/comm/tcp/detail/tcp_transport.hpp>
#include <fleet/core/error.hpp>
#include <fleet/core/system_reason.hpp>

namespace fleet::comm::tcp {

FLEET_BODY TcpTransport::TcpTransport(int rank, Membership membership, std::vector<std::unique_ptr<Link>> links,
                                      std::size_t piece_bytes)
    : Transport(rank, static_cast<int>(links.size()), piece_bytes),
      membership_(std::move(membership)),
      links_(std::move(links)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (wake_ < 0) throw ConfigurationError("fleet: cannot make an event descriptor: " + system_reason(errno));
}

FLEET_BODY TcpTransport::~TcpTransport() { ::close(wake_); }

FLEET_BODY void TcpTransport::begin(Frame const& call, Deadline deadline, bool eager) {
  call_ = call;
  deadline_ = deadline;
  eager_ = eager && membership_.may_spin;
  in_call_ = true;
  announced_ = false;
  grace_.reset();
  idle_since_ = {};
  started_ = Clock::now();
  if (started_ - listened_ > listen_interval) poll(-1, -1, 0);
  if (later_failure_) pass_on_failure();
  if (call.kind == FrameKind::message) return;
  for (int other = 0; other < size(); ++other) {
    if (other == rank()) continue;
    if (auto const at = link(other).refused.find(call.number); at != link(other).refused.end())
      refused(other, at->second);
    compare_calls(other);
  }
}

FLEET_BODY void TcpTransport::end() { in_call_ = false; }

FLEET_BODY void TcpTransport::flow(Flow const& flow) {
  Outgoing piece;
  bool sending = false;
  Arrival arrival;
  std::size_t sent = 0, received = 0;
  while (sent < flow.sends || received < flow.receives) {
    bool any = false;
    if (!sending && sent < flow.sends && (sent < flow.lead || sent - flow.lead < received)) {
      piece = {call_, flow.outgoing()};
      piece.header.length = piece.data.size();
      sending = true;
    }
    if (sending && push(flow.to, piece)) {
      any = true;
      if (piece.done()) {
        sending = false;
        ++sent;
      }
    }
    bool whole = false;
    if (received < flow.receives && pull(flow, arrival, whole)) any = true;
    if (whole) {
      ++received;
      flow.arrived();
    }
    if (any)
      moved();
    else
      rest(received < flow.receives ? flow.from : -1, sending ? flow.to : -1);
  }
}

FLEET_BODY bool TcpTransport::push(int to, Outgoing& piece) {
  auto const result = piece.send(link(to).data);
  if (result.state == net::Socket::State::closed) lost(to, result.error);
  return result.state == net::Socket::State::moved;
}

FLEET_BODY bool TcpTransport::pull(Flow const& flow, Arrival& arrival, bool& done) {
  auto& from = link(flow.from);
  int error = 0;
  if (!arrival.open) {
    auto const progress = from.inbox.read_header(from.data, error);
    if (progress == Progress::closed) lost(flow.from, error);
    if (progress == Progress::blocked) return false;
    auto const& header = from.inbox.header();
    if (plausible(header) && header.kind == FrameKind::message) {
      if (stash(flow.from)) return true;
      if (!from.data_open) lost(flow.from, 0);
      return false;
    }
    if (!same_call(header, call_)) mismatch(flow.from, header);
    arrival.room = arrival.missing = flow.incoming();
    if (header.length != arrival.room.size()) mismatch(flow.from, header);
    arrival.open = true;
  }
  auto const progress = from.inbox.read_payload(from.data, arrival.missing, error);
  if (progress == Progress::closed) lost(flow.from, error);
  if (progress == Progress::blocked) return false;
  done = progress == Progress::done;
  arrival.open = !done;
  return true;
}

FLEET_BODY void TcpTransport::post(int to, std::span<std::byte const> data) {
  auto header = call_;
  header.length = data.size();
  if (to == rank()) {
    own_messages_.push_back({header, {data.begin(), data.end()}});
    return;
  }
  for (Outgoing piece{header, data}; !piece.done();) {
    if (push(to, piece))
      moved();
    else
      rest(-1, to);
  }
}

FLEET_BODY void TcpTransport::take(int from, std::span<std::byte> data) {
  auto& messages = from == rank() ? own_messages_ : link(from).messages;
  for (;;) {
    auto const at = std::find_if(messages.begin(), messages.end(),
                                 [&](auto const& message) { return message.header.tag == call_.tag; });
    if (at != messages.end()) {
      check_message(from, at->header, data.size());
      std::copy(at->data.begin(), at->data.end(), data.begin());
      messages.erase(at);
      return;
    }
    if (from == rank())
      fail(TransportError::Cause::mismatch, from, from,
           text(name(from), " has sent itself nothing with tag ", call_.tag));
    auto& other = link(from);
    int error = 0;
    auto const progress = other.inbox.read_header(other.data, error);
    if (progress == Progress::closed) lost(from, error);
    if (progress == Progress::blocked) {
      rest(from, -1);
      continue;
    }
    moved();
    auto const& header = other.inbox.header();
    if (!plausible(header) || header.kind != FrameKind::message) mismatch(from, header);
    if (other.coming_open || header.tag != call_.tag) {
      if (!stash(from)) {
        if (!other.data_open) lost(from, 0);
        rest(from, -1);
      }
      continue;
    }
    check_message(from, header, data.size());
    for (auto missing = data;;) {
      auto const read = other.inbox.read_payload(other.data, missing, error);
      if (read == Progress::closed) lost(from, error);
      if (read == Progress::done) return;
      if (read == Progress::blocked) rest(from, -1);
    }
  }
}

FLEET_BODY bool TcpTransport::stash(int from) {
  auto& other = link(from);
  int error = 0;
  auto const header = other.inbox.read_header(other.data, error);
  if (header == Progress::closed) other.data_open = false;  // whoever needs more of it will meet the end again
  if (header != Progress::done || other.inbox.header().kind != FrameKind::message || !plausible(other.inbox.header()))
    return false;
  if (!other.coming_open) {
    other.coming = {other.inbox.header(), std::vector<std::byte>(other.inbox.header().length)};
    other.missing = other.coming.data;
    other.coming_open = true;
  }
  auto const progress = other.inbox.read_payload(other.data, other.missing, error);
  if (progress == Progress::closed) other.data_open = false;
  if (progress == Progress::done) {
    other.messages.push_back(std::move(other.coming));
    other.coming_open = false;
  }
  return progress == Progress::done || progress == Progress::some;
}

FLEET_BODY void TcpTransport::check_message(int from, Frame const& header, std::size_t bytes) {
  if (header.dtype != call_.dtype || header.length != bytes) mismatch(from, header);
}

FLEET_BODY std::unique_ptr<Transport> TcpTransport::subgroup(std::span<int const> members) {
  using Endpoint = std::array<char, 128>;
  std::vector<Endpoint> endpoints(static_cast<std::size_t>(size()));
  std::optional<net::Listener> listener;
  if (members.size() > 1) {
    listener.emplace(membership_.address.with_port(0));
    auto const own = net::HostPort{membership_.advertised, listener->address().port()}.text();
    own.copy(endpoints[static_cast<std::size_t>(rank())].data(), sizeof(Endpoint) - 1);
  }
  auto const bytes = std::as_writable_bytes(std::span{endpoints});
  if (size() > 1) ring_all_gather(*this, bytes, Partition{bytes.size(), endpoints.size()}, DType::uint8);

  auto membership = membership_;
  membership.group += text("/", call_.number, ".", members.front());
  membership.labels.clear();
  std::vector<Place> places;
  for (std::size_t place = 0; place < members.size(); ++place) {
    auto const member = static_cast<std::size_t>(members[place]);
    int const label = membership_.labels[member];
    endpoints[member].back() = '\0';
    std::string const endpoint = endpoints[member].data();
    membership.labels.push_back(label);
    places.push_back({endpoint, text("rank ", place, " (rank ", label, " of all) at ", endpoint)});
  }
  int const own = static_cast<int>(std::find(members.begin(), members.end(), rank()) - members.begin());
  std::vector<std::unique_ptr<Link>> links(members.size());
  if (listener) {
    auto const check = [this] { poll(-1, -1, 0); };
    links = connect_mesh(*listener, {.rank = own,
                                     .places = std::move(places),
                                     .token = membership.token,
                                     .group = net::sha256(membership.group),
                                     .deadline = deadline_,
                                     .check = check});
  }
  return std::make_unique<TcpTransport>(own, std::move(membership), std::move(links), piece_bytes());
}

}  // namespace fleet::comm::tcp
