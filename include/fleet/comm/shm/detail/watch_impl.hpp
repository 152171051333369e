#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fleet/comm/shm/detail/bell.hpp>
#include <fleet/comm/shm/detail/watch.hpp>
#include <fleet/core/error.hpp>

namespace fleet::comm::shm {
namespace detail {

/// Writes as much of `what` as there is room for, ended by a 0.
template <std::size_t room>
void put_text(char (&target)[room], std::string_view what) {
  auto const length = std::min(what.size(), room - 1);
  std::memcpy(target, what.data(), length);
  target[length] = '\0';
}

}  // namespace detail

FLEET_BODY void Watch::begin(Frame const& call, std::uint32_t sequence) {
  call_ = call;
  call_.number &= 0xffffffffu;  // as headers hold it
  sequence_ = sequence;
  if (broken()) throw_failure();
}

FLEET_BODY void Watch::check(int other, FunctionRef<bool()> satisfied) {
  if (broken()) throw_failure();
  if (interrupted_)
    fail(TransportError::Cause::aborted, rank_, rank_,
         text(segment_->name(rank_), " destroyed its communicator with a call under way"));
  if (sequence_ != 0) {
    for (int rank = 0; rank < segment_->size(); ++rank) {
      if (rank == rank_) continue;
      check_refusals(rank);
      if (has_called(rank)) compare(rank);
    }
  }
  if (member(other).state.load(std::memory_order_acquire) == Member::left && !satisfied())
    fail(TransportError::Cause::left, other, rank_, text(segment_->name(other), " has left the group"));
  auto const now = Clock::now();
  if (now - looked_ < std::chrono::milliseconds{50}) return;
  looked_ = now;
  if (processes_->ended(static_cast<std::size_t>(member(other).label)) && !satisfied())
    fail(TransportError::Cause::lost, other, rank_,
         text(segment_->name(other), " is lost: its process ", member(other).process.load(), " has ended"));
}

FLEET_BODY void Watch::expired(int other) {
  auto const alive = ranks_that_wait();
  std::vector<bool> seen(alive.size());
  int guilty = other;
  auto const index = [](int rank) { return static_cast<std::size_t>(rank); };
  while (guilty != rank_ && alive[index(guilty)] && !seen[index(guilty)]) {
    seen[index(guilty)] = true;
    if (int const next = member(guilty).waits_for.load(); next >= 0) guilty = next;
  }
  if (guilty == rank_ || alive[index(guilty)])
    fail(TransportError::Cause::mismatch, other, rank_,
         text("the ranks wait for each other: ", segment_->name(rank_), " for ", segment_->name(other)));
  fail(TransportError::Cause::silent, guilty, rank_,
       text("nothing was heard from ", segment_->name(guilty), " within the time allowed"));
}

/// Which ranks wait and live: their hearts beat.
FLEET_BODY std::vector<bool> Watch::ranks_that_wait() {
  auto const ranks = static_cast<std::size_t>(segment_->size());
  std::vector<std::uint64_t> before(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) before[rank] = member(static_cast<int>(rank)).beats.load();
  for (int i = 0; i < 50; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
    if (broken()) throw_failure();
    member(rank_).beats.fetch_add(1);
  }
  std::vector<bool> out(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    auto const& one = member(static_cast<int>(rank));
    out[rank] = one.waits_for.load() >= 0 && one.beats.load() != before[rank];
  }
  return out;
}

FLEET_BODY void Watch::check_refusals(int other) {
  for (auto const& refusal : member(other).refused) {
    if (auto const number = refusal.number.load(std::memory_order_acquire);
        number == 0 || (number & 0xffffffffu) != call_.number)
      continue;
    fail(TransportError::Cause::aborted, other, rank_,
         text(segment_->name(other), " did not make a call, as its arguments were wrong there: ", refusal.why));
  }
}

/// Some rank has made another call than this one. What most ranks have called is taken for right.
FLEET_BODY void Watch::differs() {
  auto const others_may_come = Clock::now() + std::chrono::milliseconds{200};
  std::vector<int> callers;
  for (;;) {
    callers.clear();
    for (int rank = 0; rank < segment_->size(); ++rank)
      if (rank == rank_ || has_called(rank)) callers.push_back(rank);
    if (broken()) throw_failure();
    if (callers.size() == static_cast<std::size_t>(segment_->size()) || Clock::now() > others_may_come) break;
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  auto const called = [this](int rank) { return rank == rank_ ? call_ : header(rank); };
  auto const votes = [&](int rank) {
    return std::count_if(callers.begin(), callers.end(),
                         [&](int other) { return same_call(called(other), called(rank)); });
  };
  int const right =
      *std::max_element(callers.begin(), callers.end(), [&](int a, int b) { return votes(a) < votes(b); });
  int const wrong =
      *std::find_if(callers.begin(), callers.end(), [&](int rank) { return !same_call(called(rank), called(right)); });
  for (int rank : {right, wrong}) {
    for (auto const& refusal : member(rank).refused) {
      auto const number = refusal.number.load(std::memory_order_acquire) & 0xffffffffu;
      if (number != 0 && number == called(rank == right ? wrong : right).number)
        fail(TransportError::Cause::aborted, rank, rank == right ? wrong : right,
             text(segment_->name(rank), " did not make a call, as its arguments were wrong there: ", refusal.why));
    }
  }
  fail(TransportError::Cause::mismatch, wrong, right,
       text(segment_->name(wrong), " called ", describe(called(wrong)), "; ", segment_->name(right), " called ",
            describe(called(right)), "; all ranks must make the same calls in the same order"));
}

FLEET_BODY void Watch::mismatch(int other, Frame const& theirs) {
  fail(TransportError::Cause::mismatch, other, rank_,
       text(segment_->name(other), " called ", describe(theirs), "; ", segment_->name(rank_), " called ",
            describe(call_), "; both sides must agree"));
}

FLEET_BODY void Watch::fail(TransportError::Cause cause, int guilty, int partner, std::string const& reason) {
  auto& failure = segment_->head().failure;
  auto none = static_cast<std::uint32_t>(Failure::none);
  if (failure.state.compare_exchange_strong(none, Failure::being_written)) {
    failure.cause = cause;
    failure.guilty = guilty;
    failure.partner = partner;
    detail::put_text(failure.reason, reason);
    failure.state.store(Failure::written);
    ring(*segment_);
  }
  throw_failure();
}

FLEET_BODY void Watch::throw_failure() const {
  auto const& failure = segment_->head().failure;
  std::string reason = "a rank was lost while it told of an error";
  int guilty = -1;
  auto cause = TransportError::Cause::aborted;
  for (int i = 0; i < 100 && failure.state.load(std::memory_order_acquire) != Failure::written; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  if (failure.state.load(std::memory_order_acquire) == Failure::written) {
    reason = failure.reason;
    guilty = failure.guilty == rank_ ? failure.partner : failure.guilty;
    cause = failure.cause;
  }
  throw TransportError(
      cause, guilty, std::string{name(call_.operation)},
      text("fleet: ", describe(call_), " on rank ", rank_, " of ", segment_->size(), " failed: ", reason));
}

FLEET_BODY void Watch::refuse(std::uint64_t number, std::string const& why) {
  auto& self = member(rank_);
  auto& place = self.refused[self.refusals.fetch_add(1) % self.refused.size()];
  place.number.store(0);
  detail::put_text(place.why, why);
  place.number.store(number);
  wake_sleepers(*segment_);
}

FLEET_BODY void Watch::interrupt() {
  interrupted_ = true;
  ring(*segment_);
}

FLEET_BODY void Watch::leave() {
  member(rank_).state.store(Member::left);
  ring(*segment_);
}

}  // namespace fleet::comm::shm
