#pragma once
#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include <fleet/comm/communicator.hpp>
#include <fleet/core/aligned.hpp>

namespace fleet {

/// Sums many arrays over the workers in few messages, which depend on the sizes alone, so that they match on every
/// worker: arrays that lie side by side, and long ones, are summed where they are, others through a buffer.
class SpanSum {
 public:
  /// Every worker gives arrays of the same sizes in the same order; each becomes its sum over the workers.
  void operator()(std::span<std::span<float> const> arrays, comm::Communicator& workers) {
    for (std::size_t first = 0; first < arrays.size();) {
      auto last = first;
      std::size_t count = 0;
      while (last < arrays.size() && (last == first || count + arrays[last].size() <= message_elements))
        count += arrays[last++].size();
      sum(arrays.subspan(first, last - first), count, workers);
      first = last;
    }
  }

 private:
  static constexpr std::size_t message_elements = std::size_t{1} << 20;

  void sum(std::span<std::span<float> const> arrays, std::size_t count, comm::Communicator& workers) {
    if (count == 0) return;
    bool side_by_side = true;
    for (std::size_t i = 1; i < arrays.size(); ++i)
      side_by_side &= arrays[i].data() == arrays[i - 1].data() + arrays[i - 1].size();
    if (side_by_side) return workers.all_reduce(std::span{arrays.front().data(), count});
    buffer_.resize(std::max(buffer_.size(), count));
    auto to = buffer_.begin();
    for (auto array : arrays) to = std::ranges::copy(array, to).out;
    workers.all_reduce(std::span{buffer_}.first(count));
    auto from = buffer_.cbegin();
    for (auto array : arrays) {
      std::copy_n(from, array.size(), array.begin());
      from += static_cast<std::ptrdiff_t>(array.size());
    }
  }

  AlignedVector<float> buffer_;
};

}  // namespace fleet
