#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <fleet/core/dtype.hpp>

namespace fleet::comm {

enum class ReduceOp : std::uint8_t { sum, max, min, prod };

enum class Operation : std::uint8_t {
  all_reduce,
  reduce,
  broadcast,
  all_gather,
  reduce_scatter,
  scatter,
  gather,
  all_to_all,
  send,
  receive,
  barrier,
  split,
};

std::string_view constexpr name(Operation operation) {
  constexpr std::string_view names[] = {"all_reduce",     "reduce",  "broadcast", "all_gather",
                                        "reduce_scatter", "scatter", "gather",    "all_to_all",
                                        "send",           "receive", "barrier",   "split"};
  return names[static_cast<std::size_t>(operation)];
}

/// One operation on bytes: the untyped core beneath the typed calls of Communicator. Engines implement this alone.
/// Sizes are 64-bit everywhere; counts are elements, not bytes.
struct Call {
  Operation operation{};
  DType dtype = DType::uint8;
  ReduceOp reduce = ReduceOp::sum;
  int peer = 0;                           ///< the root, or the partner of send and receive
  std::uint32_t tag = 0;                  ///< tells messages of one pair apart (send and receive)
  std::span<std::byte> output{};          ///< where the result goes; also the input of the operations in place
  std::span<std::byte const> input{};     ///< what is sent, where it differs from `output`
  std::span<std::size_t const> counts{};  ///< elements a rank: all_gather and reduce_scatter; empty for the others
  std::optional<std::chrono::milliseconds> timeout{};  ///< none: the communicator's own
};

}  // namespace fleet::comm
