#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include <fleet/core/vectorize.hpp>

namespace fleet {
namespace detail {

using Keys = std::int32_t __attribute__((vector_size(32)));

/// The magnitudes of floats as integers of the same order; a NaN is greater than all numbers.
inline void take_keys(Keys& keys, Floats const& values) {
  std::memcpy(&keys, &values, sizeof keys);
  keys &= 0x7fffffff;
}

inline std::int32_t greatest(Keys const& keys) {
  std::int32_t most = keys[0];
  for (std::size_t lane = 1; lane < float_lanes; ++lane) most = std::max(most, keys[lane]);
  return most;
}

}  // namespace detail

/// Finds the k elements of greatest magnitude exactly: in one pass it notes the greatest of each block, which bounds
/// the k-th from below, and in a second it reads only the blocks that reach the bound. Its buffers are kept, so that
/// a steady use allocates nothing.
class TopK {
 public:
  /// To be called with each vector of the elements in order, as for_each_vector does. A pass that makes the elements
  /// can do so as it goes, which saves a pass.
  class Notes {
   public:
    void operator()(Floats const& values) {
      detail::Keys keys;
      detail::take_keys(keys, values);
      most_ = keys > most_ ? keys : most_;
      if (++seen_ == vectors_) finish();
    }
    /// After the last vector.
    void finish() {
      if (seen_ != 0) *next_++ = detail::greatest(most_);
      most_ = detail::Keys{};
      seen_ = 0;
    }

   private:
    friend TopK;
    Notes(std::int32_t* next, std::size_t vectors) : next_(next), vectors_(vectors) {}

    detail::Keys most_{};
    std::int32_t* next_;
    std::size_t vectors_, seen_ = 0;
  };

  /// Begins a search for the greatest k of `count` elements, 1 <= k <= count < 2^32.
  Notes begin(std::size_t count, std::size_t k) {
    k_ = k;
    vectors_ = 1;
    while (vectors_ < most_vectors && count / (2 * vectors_ * float_lanes) >= blocks_wanted * k) vectors_ *= 2;
    maxima_.resize((count + block() - 1) / block());
    return {maxima_.data(), vectors_};
  }

  /// The places of the chosen elements, ascending; of equal magnitudes the lower places. `values` are the elements
  /// that the notes saw. The result is valid until the next search.
  std::span<std::uint32_t const> choose(std::span<float const> values) {
    collect(values, lower_bound());
    ranks_.assign(keys_.begin(), keys_.end());
    auto const last = ranks_.begin() + static_cast<std::ptrdiff_t>(k_ - 1);
    std::nth_element(ranks_.begin(), last, ranks_.end(), std::greater<>{});
    auto ties = 1 + std::count(ranks_.begin(), last, *last);  // as many as still fit
    auto const least = *last;
    std::size_t chosen = 0;
    for (std::size_t i = 0; i < keys_.size(); ++i)
      if (keys_[i] > least || (keys_[i] == least && ties-- > 0)) places_[chosen++] = places_[i];
    return std::span{places_}.first(k_);
  }

  /// Both steps at once.
  std::span<std::uint32_t const> operator()(std::span<float const> values, std::size_t k) {
    auto notes = begin(values.size(), k);
    for_each_vector(values.size(), notes, values.data());
    notes.finish();
    return choose(values);
  }

 private:
  static constexpr std::size_t most_vectors = 64;  // in a block
  static constexpr std::size_t blocks_wanted = 4;  // for each of the k

  std::size_t block() const { return vectors_ * float_lanes; }

  /// A key that at least k elements reach: the k-th of the blocks' greatest; 0 where there are fewer blocks.
  std::int32_t lower_bound() {
    if (maxima_.size() < k_) return 0;
    ranks_.assign(maxima_.begin(), maxima_.end());
    auto const at = ranks_.begin() + static_cast<std::ptrdiff_t>(k_ - 1);
    std::nth_element(ranks_.begin(), at, ranks_.end(), std::greater<>{});
    return *at;
  }

  /// Adds each element whose key is at least `bound`.
  struct Collect {
    detail::Keys bound;
    std::uint32_t place;
    std::vector<std::int32_t>* keys;
    std::vector<std::uint32_t>* places;

    void operator()(Floats const& values) {
      detail::Keys own;
      detail::take_keys(own, values);
      detail::Keys const reached = own >= bound;
      std::uint64_t any[4];
      std::memcpy(any, &reached, sizeof any);
      if ((any[0] | any[1] | any[2] | any[3]) != 0)
        for (std::size_t lane = 0; lane < float_lanes; ++lane)
          if (reached[lane]) {
            keys->push_back(own[lane]);
            places->push_back(place + static_cast<std::uint32_t>(lane));
          }
      place += float_lanes;
    }
  };

  void collect(std::span<float const> values, std::int32_t bound) {
    keys_.clear();
    places_.clear();
    for (std::size_t i = 0; i < maxima_.size(); ++i) {
      if (maxima_[i] < bound) continue;
      auto const start = i * block(), count = std::min(block(), values.size() - start);
      Collect body{detail::Keys{} + bound, static_cast<std::uint32_t>(start), &keys_, &places_};
      for_each_vector(count, body, values.data() + start);
    }
    // The last vector may have seen zeros beyond the end.
    while (!places_.empty() && places_.back() >= values.size()) {
      places_.pop_back();
      keys_.pop_back();
    }
  }

  std::size_t k_ = 1, vectors_ = 1;
  std::vector<std::int32_t> maxima_, ranks_, keys_;
  std::vector<std::uint32_t> places_;
};

}  // namespace fleet
