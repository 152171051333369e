#pragma once
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fleet/comm/frame.hpp>
#include <fleet/core/deadline.hpp>
#include <fleet/core/error.hpp>

namespace fleet::comm::local {

/// What the threads of a group share. Everything is under the one mutex but the bytes of an offer while they are
/// copied.
struct Group {
  /// A piece that its sender has put up for its receiver to copy.
  struct Offer {
    enum class State : unsigned char { none, posted, copying, taken };
    Frame frame;
    std::byte const* data = nullptr;
    State state = State::none;
  };
  struct Message {
    Frame frame;
    std::vector<std::byte> data;
  };
  struct Member {
    std::condition_variable changed;
    Frame call{};
    bool in_call = false, left = false, interrupted = false;
    int waits_for = -1;
    std::map<std::uint64_t, std::string> refused{};  // calls that it will not make, and why
  };
  struct Failure {
    TransportError::Cause cause;
    int guilty, partner;  // whom the others name, and whom the guilty one names
    std::string reason;
  };

  explicit Group(std::vector<int> all_labels)
      : labels(std::move(all_labels)),
        members(labels.size()),
        offers(labels.size() * labels.size()),
        messages(offers.size()) {}

  int size() const { return static_cast<int>(labels.size()); }
  Member& at(int rank) { return members[static_cast<std::size_t>(rank)]; }
  std::size_t channel(int from, int to) const {
    return static_cast<std::size_t>(from) * labels.size() + static_cast<std::size_t>(to);
  }
  /// "rank 1", or in a split group "rank 1 (rank 3 of all)".
  std::string name(int rank) const {
    int const label = labels[static_cast<std::size_t>(rank)];
    return label == rank ? text("rank ", rank) : text("rank ", rank, " (rank ", label, " of all)");
  }
  void notify_all() {
    for (auto& member : members) member.changed.notify_all();
  }
  void fail(Failure reported) {
    if (failure) return;
    failure = std::move(reported);
    notify_all();
  }
  [[noreturn]] void throw_failure(int rank) {
    int const guilty = failure->guilty == rank ? failure->partner : failure->guilty;
    auto const& call = at(rank).call;
    throw TransportError(
        failure->cause, guilty, std::string{comm::name(call.operation)},
        text("fleet: ", describe(call), " on rank ", rank, " of ", size(), " failed: ", failure->reason));
  }

  std::mutex mutex;
  std::vector<int> labels;  // each member's rank in the group that this one was split from at first
  std::vector<Member> members;
  std::vector<Offer*> offers;                 // by channel
  std::vector<std::deque<Message>> messages;  // by channel
  std::optional<Failure> failure;
  struct Child {
    std::shared_ptr<Group> group;
    std::size_t joined = 0;
  };
  std::map<std::pair<std::uint64_t, int>, Child> children;  // by call and first member, until all have joined
};

}  // namespace fleet::comm::local
