#pragma once
#include <cstddef>
#include <cstring>
#include <span>

namespace fleet::comm {

namespace detail {

/// A copy for which the target may be the source.
inline void copy(std::span<std::byte> target, std::span<std::byte const> source) {
  if (!source.empty() && target.data() != source.data()) std::memmove(target.data(), source.data(), source.size());
}

/// The part of `bytes` bytes that belongs to `rank`.
template <class Byte>
std::span<Byte> part(std::span<Byte> whole, int rank, std::size_t bytes) {
  return {whole.data() + static_cast<std::size_t>(rank) * bytes, bytes};
}

}  // namespace detail

}  // namespace fleet::comm
