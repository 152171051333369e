#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <fleet/comm/call.hpp>
#include <fleet/comm/frame.hpp>
#include <fleet/comm/partition.hpp>
#include <fleet/core/aligned.hpp>
#include <fleet/core/deadline.hpp>
#include <fleet/core/error.hpp>
#include <fleet/core/function_ref.hpp>

namespace fleet::comm {

/// Pieces that flow to one rank while others flow in from one rank, with -1 for none. Outgoing piece i may go once
/// more than i - lead pieces have arrived, so that what has come in can be passed on. The functions are called once a
/// piece, in order: `incoming` when room for the next piece is needed, `arrived` when that piece is there.
struct Flow {
  int to = -1;
  std::size_t sends = 0;
  std::size_t lead = static_cast<std::size_t>(-1);  ///< the default: all pieces may go at once
  FunctionRef<std::span<std::byte const>()> outgoing;
  int from = -1;
  std::size_t receives = 0;
  FunctionRef<std::span<std::byte>()> incoming;
  FunctionRef<void()> arrived;
};

/// How the ranks of a group reach each other: what an engine is made of, and what the algorithms are written for.
/// One thread at a time uses it, but for `refuse` and `interrupt`. Whatever fails throws TransportError, after it has
/// been told to the other ranks.
class Transport {
 public:
  virtual ~Transport() = default;
  Transport(Transport const&) = delete;
  Transport& operator=(Transport const&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  virtual std::string engine() const = 0;

  /// All that follows up to `end` belongs to this call. `eager`: the caller waits, so polling may be worth it.
  virtual void begin(Frame const& call, Deadline deadline, bool eager) = 0;
  virtual void end() = 0;
  virtual void flow(Flow const& flow) = 0;
  /// Does a collective call in a way of the engine's own; false where the algorithms are to do it by `flow`.
  virtual bool perform(Call const&) { return false; }

  /// A message between two ranks; messages of one pair may pass each other, told apart by the tag of the call.
  virtual void post(int to, std::span<std::byte const> data) = 0;
  virtual void take(int from, std::span<std::byte> data) = 0;

  /// Tells the others that call `number` will not be made here, as its arguments are wrong.
  virtual void refuse(std::uint64_t number, std::string const& why) = 0;
  /// Ends the call under way here and on all ranks, because of rank `guilty`, whose own error names `partner`.
  [[noreturn]] virtual void fail(TransportError::Cause cause, int guilty, int partner, std::string const& reason) = 0;
  /// Ends the call that another thread has under way.
  virtual void interrupt() = 0;
  /// Says goodbye. Nothing but the destructor follows.
  virtual void leave() = 0;

  /// A transport for `members`, ranks of this one in the order that they shall have there, this rank among them. All
  /// ranks of this transport call it within one call, each with the members of its own group.
  virtual std::unique_ptr<Transport> subgroup(std::span<int const> members) = 0;

  /// The most that one piece carries; a multiple of 64.
  std::size_t piece_bytes() const { return piece_bytes_; }
  /// Bytes that hold any piece of a buffer of this size: a multiple of 64, and no more than the buffer needs.
  std::size_t room_for(std::size_t bytes) const { return std::min(piece_bytes_, (bytes + 63) / 64 * 64); }
  /// Memory for the algorithms, kept from call to call; asking again makes the former invalid.
  std::span<std::byte> scratch(std::size_t bytes) {
    if (scratch_.size() < bytes) scratch_.resize(bytes);
    return std::span{scratch_}.first(bytes);
  }

  /// Sends all of `out` and receives all of `in`, at the same time; a rank of -1 means none.
  void exchange(int to, std::span<std::byte const> out, int from, std::span<std::byte> in) {
    Pieces const going{out.size(), piece_bytes_}, coming{in.size(), piece_bytes_};
    std::size_t sent = 0, received = 0;
    auto const outgoing = [&] {
      auto const piece = sent++;
      return out.subspan(going.offset(piece), going.size(piece));
    };
    auto const incoming = [&] {
      auto const piece = received++;
      return in.subspan(coming.offset(piece), coming.size(piece));
    };
    auto const nothing = [] {};
    if (to < 0 || going.count() == 0) to = -1;
    if (from < 0 || coming.count() == 0) from = -1;
    flow({.to = to,
          .sends = to < 0 ? 0 : going.count(),
          .outgoing = outgoing,
          .from = from,
          .receives = from < 0 ? 0 : coming.count(),
          .incoming = incoming,
          .arrived = nothing});
  }
  void send(int to, std::span<std::byte const> out) { exchange(to, out, -1, {}); }
  void receive(int from, std::span<std::byte> in) { exchange(-1, {}, from, in); }
  /// Exchanges a piece without data.
  void signal(int to, int from) {
    auto const outgoing = [] { return std::span<std::byte const>{}; };
    auto const incoming = [] { return std::span<std::byte>{}; };
    auto const nothing = [] {};
    flow({.to = to,
          .sends = 1,
          .outgoing = outgoing,
          .from = from,
          .receives = 1,
          .incoming = incoming,
          .arrived = nothing});
  }

 protected:
  Transport(int rank, int size, std::size_t piece_bytes)
      : rank_(rank), size_(size), piece_bytes_(std::max<std::size_t>(64, piece_bytes / 64 * 64)) {}

 private:
  int rank_, size_;
  std::size_t piece_bytes_;
  AlignedVector<std::byte> scratch_;
};

}  // namespace fleet::comm
