#pragma once
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <fleet/comm/fold.hpp>
#include <fleet/comm/partition.hpp>
#include <fleet/comm/shm/detail/shm_transport.hpp>
#include <fleet/core/error.hpp>

namespace fleet::comm::shm {

FLEET_BODY ShmTransport::ShmTransport(std::shared_ptr<Segment> segment, int rank,
                                      std::shared_ptr<Processes const> processes, bool crowded)
    : Transport(rank, segment->size(), segment->piece_bytes()),
      segment_(std::move(segment)),
      processes_(std::move(processes)),
      crowded_(crowded),
      watch_(segment_, rank, processes_),
      mailbox_(*segment_, rank),
      waiter_(*segment_, rank, mailbox_, watch_, crowded),
      board_(*segment_, rank, waiter_, watch_),
      collectives_(*segment_, rank, board_) {}

FLEET_BODY void ShmTransport::begin(Frame const& call, Deadline deadline, bool eager) {
  waiter_.begin(deadline, eager);
  if (call.kind == FrameKind::message) return watch_.begin(call, 0);
  watch_.begin(call, board_.next_sequence());
  board_.begin();
}

FLEET_BODY void ShmTransport::end() {
  if (watch_.call().kind != FrameKind::message) board_.end();
}

FLEET_BODY bool ShmTransport::perform(Call const& call) {
  auto const element = size_of(call.dtype), ranks = static_cast<std::size_t>(size());
  auto const parts = [&](std::size_t bytes) {
    return call.counts.empty() ? Partition{bytes / element, ranks} : Partition{call.counts};
  };
  Reduction const reduction{call.dtype, call.reduce};
  switch (call.operation) {
    case Operation::barrier:
      collectives_.barrier();
      return true;
    case Operation::all_reduce:
      collectives_.all_reduce(call.output, reduction);
      return true;
    case Operation::reduce_scatter:
      collectives_.reduce_scatter(call.input, call.output, parts(call.input.size()), reduction);
      return true;
    case Operation::all_gather:
      collectives_.all_gather(call.input, call.output, parts(call.output.size()), element);
      return true;
    case Operation::broadcast:
      collectives_.broadcast(call.output, call.peer);
      return true;
    default:
      return false;
  }
}

FLEET_BODY void ShmTransport::flow(Flow const& flow) {
  board_.publish();
  std::size_t sent = 0, received = 0;
  auto const may_send = [&] {
    return sent < flow.sends && (sent < flow.lead || sent - flow.lead < received) && mailbox_.has_room(flow.to);
  };
  auto const may_receive = [&] {
    if (received == flow.receives) return false;
    auto const* const piece = mailbox_.front(flow.from);
    return piece != nullptr && piece->frame.kind != FrameKind::message;
  };
  while (sent < flow.sends || received < flow.receives) {
    if (may_send()) {
      mailbox_.put(flow.to, watch_.call(), flow.outgoing());
      ++sent;
    } else if (!may_receive()) {
      waiter_.await(received < flow.receives ? flow.from : flow.to, [&] { return may_send() || may_receive(); });
    }
    if (!may_receive()) continue;
    auto& piece = *mailbox_.front(flow.from);
    auto const room = flow.incoming();
    if (!same_call(piece.frame, watch_.call()) || piece.frame.length != room.size())
      watch_.mismatch(flow.from, piece.frame);
    if (!room.empty()) std::memcpy(room.data(), Mailbox::bytes_of(piece), room.size());
    mailbox_.pop(flow.from);
    ++received;
    flow.arrived();
  }
}

FLEET_BODY void ShmTransport::post(int to, std::span<std::byte const> data) {
  if (to == rank()) {
    mailbox_.aside(to).push_back({watch_.call(), {data.begin(), data.end()}});
    auto& message = mailbox_.aside(to).back();
    message.room = message.own;
    message.filled = message.room.size();
    return;
  }
  Pieces const pieces{data.size(), piece_bytes()};
  for (std::size_t i = 0; i < std::max<std::size_t>(pieces.count(), 1); ++i) {
    waiter_.await(to, [&] { return mailbox_.has_room(to); });
    mailbox_.put(to, watch_.call(), data.subspan(pieces.offset(i), pieces.size(i)));
  }
}

FLEET_BODY void ShmTransport::take(int from, std::span<std::byte> data) {
  auto& list = mailbox_.aside(from);
  auto const found = [&] {
    return std::find_if(list.begin(), list.end(),
                        [&](auto const& message) { return message.frame.tag == watch_.call().tag; });
  };
  if (found() == list.end()) mailbox_.expect({from, watch_.call(), data});
  waiter_.await(from, [&] {
    mailbox_.put_aside(from);
    auto const message = found();
    return message != list.end() && message->complete();
  });
  mailbox_.expect({});
  auto const message = found();
  if (message->frame.dtype != watch_.call().dtype || message->room.size() != data.size())
    watch_.mismatch(from, message->frame);
  if (!data.empty() && message->room.data() != data.data()) std::memcpy(data.data(), message->room.data(), data.size());
  list.erase(message);
}

FLEET_BODY std::unique_ptr<Transport> ShmTransport::subgroup(std::span<int const> members) {
  board_.publish();
  int const first = members.front();
  int const place = static_cast<int>(std::find(members.begin(), members.end(), rank()) - members.begin());
  auto const number = watch_.call().number;
  std::shared_ptr<Segment> segment;
  if (rank() == first) {
    std::vector<int> labels;
    for (int member : members) labels.push_back(segment_->member(member).label);
    segment = Segment::create({static_cast<int>(members.size()), segment_->chunk_bytes()}, labels);
    auto& self = segment_->member(first);
    self.descriptor = segment->descriptor();
    self.nonce = segment->head().identity.nonce;
    self.offer = number;
    wake_sleepers(*segment_);
  } else {
    auto const& offering = segment_->member(first);
    waiter_.await(first, [&] { return offering.offer.load() == number; });
    segment = Segment::open(offering.process, offering.descriptor, offering.nonce);
  }
  segment->member(place).process = ::getpid();
  segment->member(place).state = Member::here;
  wake_sleepers(*segment_);
  for (std::size_t i = 1; rank() == first && i < members.size(); ++i)
    waiter_.await(members[i], [&] { return segment->member(static_cast<int>(i)).state.load() != Member::absent; });
  segment->close_descriptor();
  return std::make_unique<ShmTransport>(std::move(segment), place, processes_, crowded_);
}

}  // namespace fleet::comm::shm
