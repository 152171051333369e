#pragma once
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fleet/comm/local/detail/local_group.hpp>
#include <fleet/comm/transport.hpp>

namespace fleet::comm::local {

/// One thread's place in a group: receivers copy straight from the sender's memory.
class LocalTransport final : public Transport {
 public:
  LocalTransport(std::shared_ptr<Group> group, int rank, std::size_t piece_bytes)
      : Transport(rank, group->size(), piece_bytes), group_(std::move(group)), self_(group_->at(rank)) {}

  std::string engine() const override { return "local"; }

  void begin(Frame const& call, Deadline deadline, bool) override {
    std::unique_lock lock{group_->mutex};
    deadline_ = deadline;
    self_.call = call;
    self_.in_call = true;
    check();
    for (int other = 0; other < size(); ++other) {
      auto const& theirs = group_->at(other);
      if (other != rank() && theirs.in_call && theirs.call.number == call.number && theirs.call.kind == call.kind &&
          call.kind != FrameKind::message && !same_call(theirs.call, call))
        mismatch(other, theirs.call);
    }
  }

  void end() override {
    std::lock_guard lock{group_->mutex};
    self_.in_call = false;
  }

  void flow(Flow const& flow) override {
    std::unique_lock lock{group_->mutex};
    Group::Offer offer;
    Withdrawal const withdrawal{*this, lock, offer, flow.to};
    std::size_t sent = 0, received = 0;
    while (sent < flow.sends || received < flow.receives) {
      check();
      bool moved = false;
      if (offer.state == Group::Offer::State::taken) {
        offer.state = Group::Offer::State::none;
        ++sent;
        moved = true;
      }
      if (offer.state == Group::Offer::State::none && sent < flow.sends &&
          (sent < flow.lead || sent - flow.lead < received))
        put_up(offer, flow.outgoing(), flow.to);
      if (received < flow.receives && accept(lock, flow)) {
        ++received;
        moved = true;
      }
      if (!moved) wait(lock, received < flow.receives ? flow.from : flow.to);
    }
  }

  void post(int to, std::span<std::byte const> data) override {
    std::unique_lock lock{group_->mutex};
    check();
    if (group_->at(to).left) report(TransportError::Cause::left, to, text(group_->name(to), " has left"));
    auto frame = self_.call;
    frame.length = data.size();
    group_->messages[group_->channel(rank(), to)].push_back({frame, {data.begin(), data.end()}});
    group_->at(to).changed.notify_all();
  }

  void take(int from, std::span<std::byte> data) override {
    std::unique_lock lock{group_->mutex};
    auto& queue = group_->messages[group_->channel(from, rank())];
    for (;;) {
      check();
      auto const at = std::find_if(queue.begin(), queue.end(),
                                   [&](auto const& message) { return message.frame.tag == self_.call.tag; });
      if (at != queue.end()) {
        if (at->frame.dtype != self_.call.dtype || at->data.size() != data.size()) mismatch(from, at->frame);
        std::copy(at->data.begin(), at->data.end(), data.begin());
        queue.erase(at);
        return;
      }
      wait(lock, from);
    }
  }

  void refuse(std::uint64_t number, std::string const& why) override {
    std::lock_guard lock{group_->mutex};
    self_.refused[number] = why;
    group_->notify_all();
  }

  [[noreturn]] void fail(TransportError::Cause cause, int guilty, int partner, std::string const& reason) override {
    std::unique_lock lock{group_->mutex};
    group_->fail({cause, guilty, partner, reason});
    group_->throw_failure(rank());
  }

  void interrupt() override {
    std::lock_guard lock{group_->mutex};
    self_.interrupted = true;
    self_.changed.notify_all();
  }

  void leave() override {
    std::lock_guard lock{group_->mutex};
    self_.left = true;
    self_.in_call = false;
    group_->notify_all();
  }

  std::unique_ptr<Transport> subgroup(std::span<int const> members) override {
    std::lock_guard lock{group_->mutex};
    auto const key = std::pair{self_.call.number, members.front()};
    auto& child = group_->children[key];
    if (!child.group) {
      std::vector<int> labels;
      for (int member : members) labels.push_back(group_->labels[static_cast<std::size_t>(member)]);
      child.group = std::make_shared<Group>(std::move(labels));
    }
    auto group = child.group;
    if (++child.joined == members.size()) group_->children.erase(key);
    auto const place = std::find(members.begin(), members.end(), rank()) - members.begin();
    return std::make_unique<LocalTransport>(std::move(group), static_cast<int>(place), piece_bytes());
  }

 private:
  /// Takes an offer back, however the flow ends: its bytes are the caller's again.
  struct Withdrawal {
    LocalTransport& transport;
    std::unique_lock<std::mutex>& lock;
    Group::Offer& offer;
    int to;

    ~Withdrawal() {
      if (offer.state == Group::Offer::State::none) return;
      transport.self_.changed.wait(lock, [&] { return offer.state != Group::Offer::State::copying; });
      auto& place = transport.group_->offers[transport.group_->channel(transport.rank(), to)];
      if (place == &offer) place = nullptr;
    }
  };

  void put_up(Group::Offer& offer, std::span<std::byte const> data, int to) {
    offer = {self_.call, data.data(), Group::Offer::State::posted};
    offer.frame.length = data.size();
    group_->offers[group_->channel(rank(), to)] = &offer;
    group_->at(to).changed.notify_all();
  }

  /// Copies the next piece, if it is there.
  bool accept(std::unique_lock<std::mutex>& lock, Flow const& flow) {
    auto& place = group_->offers[group_->channel(flow.from, rank())];
    if (place == nullptr || place->state != Group::Offer::State::posted) return false;
    auto& offer = *place;
    auto const room = flow.incoming();
    if (!same_call(offer.frame, self_.call) || offer.frame.length != room.size()) mismatch(flow.from, offer.frame);
    offer.state = Group::Offer::State::copying;
    lock.unlock();
    if (!room.empty()) std::memcpy(room.data(), offer.data, room.size());
    lock.lock();
    offer.state = Group::Offer::State::taken;
    place = nullptr;
    group_->at(flow.from).changed.notify_all();
    lock.unlock();
    flow.arrived();
    lock.lock();
    return true;
  }

  void wait(std::unique_lock<std::mutex>& lock, int other) {
    auto& theirs = group_->at(other);
    if (theirs.left) report(TransportError::Cause::left, other, text(group_->name(other), " has left the group"));
    if (deadline_.passed()) expire(other);
    self_.waits_for = other;
    self_.changed.wait_until(lock, deadline_.at());
    self_.waits_for = -1;
  }

  /// Follows who waits for whom to the rank that waits for nobody.
  [[noreturn]] void expire(int other) {
    std::vector<bool> seen(static_cast<std::size_t>(size()));
    int guilty = other;
    while (group_->at(guilty).waits_for >= 0 && !seen[static_cast<std::size_t>(guilty)]) {
      seen[static_cast<std::size_t>(guilty)] = true;
      guilty = group_->at(guilty).waits_for;
    }
    if (guilty == rank() || group_->at(guilty).waits_for >= 0)
      report(
          TransportError::Cause::mismatch, other,
          text("the ranks wait for each other: ", group_->name(other), " called ", describe(group_->at(other).call)));
    report(TransportError::Cause::silent, guilty,
           text("nothing was heard from ", group_->name(guilty), " within the time allowed"));
  }

  [[noreturn]] void mismatch(int other, Frame const& theirs) {
    if (auto const at = self_.refused.find(theirs.number); at != self_.refused.end()) refused(rank(), at->second);
    report(TransportError::Cause::mismatch, other,
           text(group_->name(other), " called ", describe(theirs), "; ", group_->name(rank()), " called ",
                describe(self_.call), "; all ranks must make the same calls in the same order"));
  }

  [[noreturn]] void refused(int by, std::string const& why) {
    report(TransportError::Cause::aborted, by,
           text(group_->name(by), " did not make a call, as its arguments were wrong there: ", why));
  }

  [[noreturn]] void report(TransportError::Cause cause, int guilty, std::string const& reason) {
    group_->fail({cause, guilty, rank(), reason});
    group_->throw_failure(rank());
  }

  void check() {
    if (group_->failure) group_->throw_failure(rank());
    if (self_.interrupted)
      report(TransportError::Cause::aborted, rank(),
             text(group_->name(rank()), " destroyed its communicator with a call under way"));
    if (self_.call.kind == FrameKind::message) return;
    for (int other = 0; other < size(); ++other) {
      auto const& theirs = group_->at(other).refused;
      if (auto const at = theirs.find(self_.call.number); other != rank() && at != theirs.end())
        refused(other, at->second);
    }
  }

  std::shared_ptr<Group> group_;
  Group::Member& self_;
  Deadline deadline_ = Deadline{Deadline::Clock::time_point{}};
};

}  // namespace fleet::comm::local
