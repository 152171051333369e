#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include <fleet/comm/all_reduce.hpp>
#include <fleet/comm/all_to_all.hpp>
#include <fleet/comm/barrier.hpp>
#include <fleet/comm/broadcast.hpp>
#include <fleet/comm/call.hpp>
#include <fleet/comm/detail/parts.hpp>
#include <fleet/comm/fold.hpp>
#include <fleet/comm/gather.hpp>
#include <fleet/comm/partition.hpp>
#include <fleet/comm/perform.hpp>
#include <fleet/comm/reduce.hpp>
#include <fleet/comm/ring.hpp>
#include <fleet/comm/scatter.hpp>
#include <fleet/core/error.hpp>

namespace fleet::comm {
namespace detail {

/// Part sizes in elements: the call's counts, or equal parts of `bytes`.
inline Partition parts_of(Call const& call, std::size_t bytes, int size) {
  if (!call.counts.empty()) return Partition{call.counts};
  return {bytes / size_of(call.dtype), static_cast<std::size_t>(size)};
}

inline bool overlap(std::span<std::byte const> a, std::span<std::byte const> b) {
  std::less<std::byte const*> const before;
  return !a.empty() && !b.empty() && before(a.data(), b.data() + b.size()) && before(b.data(), a.data() + a.size());
}

inline void gather_all(Transport& transport, Call const& call) {
  auto const rank = static_cast<std::size_t>(transport.rank());
  auto const partition = parts_of(call, call.output.size(), transport.size());
  auto const element = size_of(call.dtype);
  copy(call.output.subspan(partition.offset(rank) * element, call.input.size()), call.input);
  ring_all_gather(transport, call.output, partition, call.dtype);
}

/// Tells lists of counts apart; 0 for none.
inline std::uint32_t digest(std::span<std::size_t const> counts) {
  std::uint64_t hash = counts.empty() ? 0 : 0xcbf29ce484222325u;
  for (auto count : counts) hash = (hash ^ count) * 0x100000001b3u;
  return static_cast<std::uint32_t>(hash ^ (hash >> 32));
}

/// The only rank's calls copy.
inline void perform_alone(Call const& call) {
  if (!call.input.empty() && !call.output.empty()) copy(call.output, call.input);
}

}  // namespace detail

FLEET_BODY void check_call(Call const& call, int rank, int size) {
  auto const element = size_of(call.dtype), ranks = static_cast<std::size_t>(size);
  auto const in = call.input.size() / element, out = call.output.size() / element;
  auto const refuse = [&](auto const&... why) {
    throw ContractError(text("fleet: ", name(call.operation), " on rank ", rank, " of ", size, ": ", why...));
  };
  auto const need = [&](bool good, std::string_view what, std::size_t is, std::size_t should) {
    if (!good) refuse(what, " has ", is, " elements and must have ", should);
  };
  if (call.peer < 0 || call.peer >= size) refuse("there is no rank ", call.peer, "; ranks are 0 to ", size - 1);
  if (!call.counts.empty() && call.counts.size() != ranks)
    refuse("there are ", call.counts.size(), " counts for ", size, " ranks");
  auto const own = static_cast<std::size_t>(rank);
  bool const root = rank == call.peer;
  switch (call.operation) {
    case Operation::all_gather: {
      auto const parts = call.counts.empty() ? Partition{in * ranks, ranks} : Partition{call.counts};
      need(in == parts.size(own), "the input", in, parts.size(own));
      need(out == parts.total(), "the output", out, parts.total());
      auto const slot = call.output.subspan(parts.offset(own) * element, call.input.size());
      if (call.input.data() != slot.data() && detail::overlap(call.input, call.output))
        refuse("the input lies in the output, but not at this rank's place");
      return;
    }
    case Operation::reduce_scatter: {
      auto const parts = detail::parts_of(call, call.input.size(), size);
      need(in == parts.total(), "the input", in, parts.total());
      need(out == parts.size(own), "the output", out, parts.size(own));
      break;
    }
    case Operation::scatter:
      if (root) need(in == out * ranks, "the root's input", in, out * ranks);
      if (!root) return;
      break;
    case Operation::gather:
      if (root) need(out == in * ranks, "the root's output", out, in * ranks);
      if (!root) return;
      break;
    case Operation::all_to_all:
      need(in % ranks == 0, "the input", in, (in / ranks + 1) * ranks);
      need(out == in, "the output", out, in);
      break;
    default:
      return;
  }
  if (size > 1 && detail::overlap(call.input, call.output)) refuse("input and output share memory");
}

FLEET_BODY Frame frame_of(Call const& call, std::uint64_t number) {
  Frame frame{.operation = call.operation,
              .dtype = call.dtype,
              .root = -1,
              .tag = detail::digest(call.counts),
              .number = number};
  switch (call.operation) {
    case Operation::all_reduce:
      frame.reduce = call.reduce;
      frame.bytes = call.output.size();
      break;
    case Operation::reduce:
      frame.reduce = call.reduce;
      [[fallthrough]];
    case Operation::broadcast:
    case Operation::scatter:
      frame.root = call.peer;
      [[fallthrough]];
    case Operation::all_gather:
      frame.bytes = call.output.size();
      break;
    case Operation::reduce_scatter:
      frame.reduce = call.reduce;
      frame.bytes = call.input.size();
      break;
    case Operation::gather:
      frame.root = call.peer;
      [[fallthrough]];
    case Operation::all_to_all:
      frame.bytes = call.input.size();
      break;
    case Operation::send:
    case Operation::receive:
      frame.kind = FrameKind::message;
      frame.tag = call.tag;
      frame.bytes = call.input.size() + call.output.size();
      break;
    case Operation::barrier:
    case Operation::split:
      break;
  }
  return frame;
}

FLEET_BODY void perform(Transport& transport, Call const& call) {
  if (call.operation == Operation::send) return transport.post(call.peer, call.input);
  if (call.operation == Operation::receive) return transport.take(call.peer, call.output);
  if (transport.size() == 1) return detail::perform_alone(call);
  if (transport.perform(call)) return;
  Reduction const reduction{call.dtype, call.reduce};
  switch (call.operation) {
    case Operation::all_reduce:
      return all_reduce(transport, call.output, reduction);
    case Operation::reduce:
      return reduce(transport, call.output, call.peer, reduction);
    case Operation::broadcast:
      return broadcast(transport, call.output, call.peer);
    case Operation::all_gather:
      return detail::gather_all(transport, call);
    case Operation::reduce_scatter:
      return reduce_scatter(transport, call.input, call.output,
                            detail::parts_of(call, call.input.size(), transport.size()), reduction);
    case Operation::scatter:
      return scatter(transport, call.input, call.output, call.peer);
    case Operation::gather:
      return gather(transport, call.input, call.output, call.peer);
    case Operation::all_to_all:
      return all_to_all(transport, call.input, call.output);
    case Operation::barrier:
      return barrier(transport);
    default:
      throw ContractError(text("fleet: ", name(call.operation), " is no call on data"));
  }
}

}  // namespace fleet::comm
