#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace fleet {
namespace detail {
__extension__ using Wide = unsigned __int128;
}

/// Mixes the bits of a number (the finaliser of SplitMix64): equal inputs give equal outputs on every machine.
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// A counter-based random sequence. Its whole state is a key and a position, so that it can be saved, resumed and
/// split by (seed, rank, step, ...) without drawing; the numbers are the same on every machine.
class Random {
 public:
  explicit constexpr Random(std::uint64_t seed = 0) : key_(mix(seed)) {}

  /// A sequence of its own for each list of words, such as (rank, step).
  template <class... Words>
  constexpr Random split(Words... words) const {
    Random other = *this;
    other.position_ = 0;
    // The key is mixed once more than the word, so that the two do not stand for one another: (1, 2) is not (2, 1).
    ((other.key_ = mix(mix(other.key_) ^ mix(static_cast<std::uint64_t>(words)))), ...);
    return other;
  }

  constexpr std::uint64_t next() { return at(position_++); }
  /// The number at a position, without moving.
  constexpr std::uint64_t at(std::uint64_t position) const { return mix(key_ + position * 0x9e3779b97f4a7c15u); }

  /// In [0, 1), with 24 random bits.
  constexpr float uniform() { return static_cast<float>(next() >> 40) * 0x1p-24f; }
  /// In [0, bound), without bias that could be seen (bound is far below 2^64). bound must be above 0.
  constexpr std::uint64_t below(std::uint64_t bound) {
    return static_cast<std::uint64_t>((static_cast<detail::Wide>(next()) * bound) >> 64);
  }
  /// Mean 0, deviation 1 (Box and Muller).
  float normal() {
    constexpr double two_pi = 6.283185307179586;
    double const u = (static_cast<double>(next() >> 11) + 1) * 0x1p-53, v = static_cast<double>(next() >> 11) * 0x1p-53;
    return static_cast<float>(std::sqrt(-2 * std::log(u)) * std::cos(two_pi * v));
  }

  /// Puts the elements into a random order (Fisher and Yates).
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  std::uint64_t key_;
  std::uint64_t position_ = 0;
};

}  // namespace fleet
