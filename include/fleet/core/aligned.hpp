#pragma once
#include <cstddef>
#include <new>
#include <vector>

namespace fleet {

/// Gives memory at the start of a cache line, so that vector code and threads do not share lines by accident.
template <class T>
struct AlignedAllocator {
  using value_type = T;
  static constexpr std::align_val_t alignment{64};

  AlignedAllocator() = default;
  template <class U>
  AlignedAllocator(AlignedAllocator<U> const&) {}  // NOLINT(google-explicit-constructor): allocators convert

  T* allocate(std::size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), alignment)); }
  void deallocate(T* memory, std::size_t) { ::operator delete(memory, alignment); }

  friend bool operator==(AlignedAllocator, AlignedAllocator) { return true; }
};

/// A vector whose first element lies at the start of a cache line.
template <class T>
using AlignedVector = std::vector<T, AlignedAllocator<T>>;

}  // namespace fleet
