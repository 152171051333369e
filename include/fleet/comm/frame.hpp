#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include <fleet/comm/call.hpp>
#include <fleet/core/dtype.hpp>
#include <fleet/core/text.hpp>

namespace fleet::comm {

/// What a frame belongs to: a collective call, the comparison before one, or a message between two ranks.
enum class FrameKind : std::uint8_t { collective, check, message };

/// The header before every piece of data that one rank hands to another: what the sender has called, so that the
/// receiver finds out at once when it has called something else.
struct Frame {
  static constexpr std::uint32_t expected_magic = 0x31544c46;  // "FLT1"; the last digit is the version

  std::uint32_t magic = expected_magic;
  Operation operation{};
  DType dtype{};
  ReduceOp reduce{};
  FrameKind kind = FrameKind::collective;
  std::int32_t root = 0;     ///< of the call; -1 where it has none
  std::uint32_t tag = 0;     ///< of a message; of a call with unequal shares, a digest of their counts
  std::uint64_t number = 0;  ///< of the call, counted from 1 in the life of the communicator
  std::uint64_t bytes = 0;   ///< of the call's whole data, where all ranks agree on it
  std::uint64_t length = 0;  ///< of the piece that follows
};
static_assert(sizeof(Frame) == 40 && std::is_trivially_copyable_v<Frame>);
static_assert(std::endian::native == std::endian::little, "fleet: the wire format is little endian");

/// Whether two ranks have made the same call.
constexpr bool same_call(Frame const& a, Frame const& b) {
  return a.magic == b.magic && a.operation == b.operation && a.dtype == b.dtype && a.reduce == b.reduce &&
         a.kind == b.kind && a.root == b.root && a.tag == b.tag && a.number == b.number && a.bytes == b.bytes;
}

/// Whether bytes from the network can be a frame at all, so that its fields may be used.
constexpr bool plausible(Frame const& frame) {
  return frame.magic == Frame::expected_magic && frame.operation <= Operation::split && frame.dtype <= DType::uint64 &&
         frame.reduce <= ReduceOp::prod && frame.kind <= FrameKind::message;
}

/// "all_reduce (max) of 1024 float32, call 7"
inline std::string describe(Frame const& call) {
  if (!plausible(call)) return "something that is no call";
  constexpr std::string_view ops[] = {"sum", "max", "min", "prod"};
  bool const reduces = call.operation == Operation::all_reduce || call.operation == Operation::reduce ||
                       call.operation == Operation::reduce_scatter;
  std::string out{name(call.operation)};
  if (reduces) out += text(" (", ops[static_cast<std::size_t>(call.reduce)], ")");
  if (call.operation != Operation::barrier && call.operation != Operation::split)
    out += text(" of ", call.bytes / size_of(call.dtype), " ", name(call.dtype));
  if (call.kind == FrameKind::message) return out + text(" with tag ", call.tag);
  if (call.tag != 0) out += text(" in unequal shares (digest ", call.tag, ")");
  if (call.root >= 0) out += text(" with root ", call.root);
  return out + text(", call ", call.number);
}

}  // namespace fleet::comm
