#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <fleet/core/config.hpp>
#include <fleet/nn/onednn/detail/compat.hpp>

namespace fleet::nn::onednn::detail {

using BufferId = std::size_t;
inline constexpr BufferId no_buffer = static_cast<BufferId>(-1);

/// When an operation runs, as a number that grows in a step: all forward passes, then all backward passes in reverse.
using Time = std::int64_t;
inline Time forward_time(std::size_t operation) { return static_cast<Time>(operation); }
inline Time backward_time(std::size_t operation) { return (Time{1} << 40) - static_cast<Time>(operation); }

/// The memory of a plan. Buffers are declared with the times of their use, then laid out in one arena so that those
/// which are never alive together share bytes. oneDNN's memory objects are made early and bound to addresses later.
class Buffers {
 public:
  explicit Buffers(dnnl::engine engine) : engine_(std::move(engine)) {}

  /// A buffer in the arena.
  BufferId make(std::size_t bytes);
  /// A buffer that lies elsewhere, at an address that `place` may change.
  BufferId make_outside(void const* address);
  /// The buffer holds something at this time.
  void use(BufferId buffer, Time time);
  /// Makes two buffers one: at least one lies in the arena.
  void merge(BufferId one, BufferId other);
  dnnl::memory memory(dnnl::memory::desc const& desc, BufferId buffer);

  /// Gives each buffer its place; returns the size of the arena in bytes.
  std::size_t lay_out();
  void bind(std::byte* arena);
  void place(BufferId outside, void const* address);

  template <class T = float>
  T* data(BufferId buffer) const {
    return reinterpret_cast<T*>(entries_[root(buffer)].address);
  }

 private:
  struct Entry {
    std::size_t bytes = 0;
    Time first = -1, last = -1;
    BufferId merged_into = no_buffer;
    bool outside = false;
    std::size_t offset = 0;
    std::byte* address = nullptr;
  };
  BufferId root(BufferId buffer) const {
    while (entries_[buffer].merged_into != no_buffer) buffer = entries_[buffer].merged_into;
    return buffer;
  }

  dnnl::engine engine_;
  std::vector<Entry> entries_;
  std::vector<std::pair<dnnl::memory, BufferId>> memories_;
};

}  // namespace fleet::nn::onednn::detail

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/nn/onednn/detail/buffers_impl.hpp>  // IWYU pragma: export
#endif
