#pragma once
#include <algorithm>
#include <cstddef>
#include <span>

namespace fleet::comm {

/// How `total` bytes are cut into pieces of at most `limit`, which is not 0.
struct Pieces {
  std::size_t total = 0;
  std::size_t limit = 1;

  std::size_t count() const { return total / limit + (total % limit != 0 ? 1 : 0); }
  std::size_t offset(std::size_t piece) const { return piece * limit; }
  std::size_t size(std::size_t piece) const { return std::min(limit, total - offset(piece)); }
};

/// How the elements of a buffer belong to the ranks: in rank order, by `counts`, or as equal as can be (the first
/// `total mod ranks` have one more).
class Partition {
 public:
  Partition(std::size_t total, std::size_t ranks) : total_(total), ranks_(ranks) {}
  explicit Partition(std::span<std::size_t const> counts) : ranks_(counts.size()), counts_(counts) {
    for (auto count : counts) total_ += count;
  }

  std::size_t ranks() const { return ranks_; }
  std::size_t total() const { return total_; }
  std::size_t size(std::size_t rank) const {
    return counts_.empty() ? total_ / ranks_ + (rank < total_ % ranks_ ? 1 : 0) : counts_[rank];
  }
  std::size_t offset(std::size_t rank) const {
    if (counts_.empty()) return rank * (total_ / ranks_) + std::min(rank, total_ % ranks_);
    std::size_t sum = 0;
    for (auto count : counts_.first(rank)) sum += count;
    return sum;
  }

 private:
  std::size_t total_ = 0, ranks_;
  std::span<std::size_t const> counts_{};
};

}  // namespace fleet::comm
