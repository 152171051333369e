#pragma once
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include <fleet/core/error.hpp>
#include <fleet/core/random.hpp>
#include <fleet/job/job.hpp>

namespace fleet::data {

/// Which of a number of ranks reads. Throws ConfigurationError for a rank that is not in 0 .. ranks - 1.
struct Share {
  int rank = 0, ranks = 1;

  Share() = default;
  Share(int rank_, int ranks_) : rank(rank_), ranks(ranks_) {
    if (rank < 0 || rank >= ranks)
      throw ConfigurationError(
          text("fleet: rank ", rank, " of ", ranks, " ranks cannot read data; a rank is 0 to ranks - 1"));
  }
  /// This worker of all workers. Throws ContractError on a server.
  Share(Job const& job) : rank(job.worker_index()), ranks(job.worker_num()) {  // NOLINT(google-explicit-constructor)
    if (job.is_server()) throw ContractError("fleet: a server reads no data; make loaders where job.is_worker()");
  }
};

/// Deals the items 0 .. n - 1 to the ranks. The order of an epoch is a permutation that depends on the seed and the
/// epoch alone; rank r gets its places r, r + ranks, ...: another number of ranks deals the same order to another
/// number of hands. In training the order is continued from its head until all ranks have equally many; in
/// evaluation it ends, so that each item comes once over all ranks.
class Sampler {
 public:
  Sampler(std::size_t items, Share share, bool shuffle, std::uint64_t seed)
      : items_(items),
        rank_(static_cast<std::size_t>(share.rank)),
        ranks_(static_cast<std::size_t>(share.ranks)),
        shuffle_(shuffle),
        seed_(seed) {}

  std::size_t items() const { return items_; }
  /// Items of every rank in training: ceil(items / ranks).
  std::size_t padded_share() const { return items_ / ranks_ + (items_ % ranks_ ? 1 : 0); }
  /// Items of this rank in evaluation.
  std::size_t own_share() const { return items_ / ranks_ + (rank_ < items_ % ranks_ ? 1 : 0); }

  /// The order of an epoch, on every rank the same; left empty where the sampler does not shuffle.
  void permute(std::uint64_t epoch, std::vector<std::size_t>& order) const {
    if (!shuffle_) return order.clear();
    order.resize(items_);
    std::iota(order.begin(), order.end(), std::size_t{0});
    Random{seed_}.split(epoch).shuffle(order);
  }
  /// The item at the k-th of this rank's places in that order.
  std::size_t item(std::size_t k, std::vector<std::size_t> const& order) const {
    std::size_t const place = (rank_ + k * ranks_) % items_;
    return order.empty() ? place : order[place];
  }

 private:
  std::size_t items_, rank_, ranks_;
  bool shuffle_;
  std::uint64_t seed_;
};

}  // namespace fleet::data
