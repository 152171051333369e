#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace fleet::comm::shm {

inline constexpr std::size_t line = 64;  ///< bytes that travel between cores at once

/// From so many bytes on, what another core is to read is written past the caches: a line that another core has read
/// last is fetched back before it can be written, which costs far more than the way through memory.
inline constexpr std::size_t stream_limit = 1024;

/// Copies `bytes` to memory that another rank will read; it is there once `publish_streams` has been called. `to` lies
/// at the start of a cache line.
inline void stream(std::byte* to, std::byte const* from, std::size_t bytes) {
#ifdef __SSE2__
  if (bytes >= stream_limit) {
    for (; bytes >= 64; bytes -= 64, to += 64, from += 64) {
      auto const* const source = reinterpret_cast<__m128i const*>(from);
      auto* const target = reinterpret_cast<__m128i*>(to);
      __m128i const a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1), c = _mm_loadu_si128(source + 2),
                    d = _mm_loadu_si128(source + 3);
      _mm_stream_si128(target, a);
      _mm_stream_si128(target + 1, b);
      _mm_stream_si128(target + 2, c);
      _mm_stream_si128(target + 3, d);
    }
  }
#endif
  if (bytes > 0) std::memcpy(to, from, bytes);
}

/// To be called between `stream` and the release of the flag that others wait for.
inline void publish_streams() {
#ifdef __SSE2__
  _mm_sfence();
#endif
}

/// From so many bytes of output on, what others have put is written past the caches into the caller's memory as well:
/// it would not stay there until it is used, and lines that are not cached would be read before they are written.
inline constexpr std::size_t output_limit = std::size_t{8} << 20;

/// Copies a piece of what is `whole` bytes in all to the caller's memory.
inline void copy_out(std::byte* to, std::byte const* from, std::size_t bytes, std::size_t whole) {
  if (bytes == 0) return;
  std::size_t const head = (line - reinterpret_cast<std::uintptr_t>(to) % line) % line;
  if (whole < output_limit || bytes < head + stream_limit) {
    std::memcpy(to, from, bytes);
  } else {
    std::memcpy(to, from, head);
    stream(to + head, from + head, bytes - head);
    publish_streams();
  }
}

/// Lets the core do something else for an instant.
inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace fleet::comm::shm
