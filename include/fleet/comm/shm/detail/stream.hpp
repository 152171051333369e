#pragma once
#include <cstddef>
#include <cstring>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace fleet::comm::shm {

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

/// Lets the core do something else for an instant.
inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace fleet::comm::shm
