#pragma once
#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <fleet/core/thread.hpp>
#include <fleet/data/dataset.hpp>
#include <fleet/data/sampler.hpp>

namespace fleet::data::detail {

/// What one loop reads.
struct Pass {
  Sampler sampler;
  std::size_t share;  ///< items of this rank
  std::size_t batch_size;
  std::size_t first, end;  ///< numbers of the first batch and of the one after the last
  std::uint64_t epoch = 0;
};

/// The batches of one pass, filled ahead by a thread into a ring of `prefetch + 1` batches that are used again and
/// again; with prefetch 0 they are filled by the caller, and there is no thread. Destroying it ends the thread, which
/// takes as long as the fill under way.
template <Dataset D>
class Reader {
 public:
  using Batch = batch_t<D>;

  Reader(std::shared_ptr<D const> dataset, Pass const& pass, std::size_t prefetch)
      : dataset_(std::move(dataset)), pass_(pass), ring_(prefetch + 1), filled_(pass.first), taken_(pass.first) {
    items_.reserve(pass_.batch_size);
    if (prefetch > 0 && pass_.first < pass_.end)
      thread_ = start_thread("a data loader (.prefetch = 0 reads without one)", [this] { run(); });
  }
  ~Reader() {
    if (!thread_.joinable()) return;
    {
      std::lock_guard lock{mutex_};
      stopped_ = true;
    }
    space_.notify_one();
    thread_.join();
  }
  Reader(Reader const&) = delete;
  Reader& operator=(Reader const&) = delete;

  /// The next batch, or null after the last. The batch before it may be overwritten from now on. Throws what filling
  /// it threw.
  Batch const* next() {
    if (thread_.joinable()) return next_of_thread();
    if (taken_ == pass_.end) return nullptr;
    fill(ring_[0], taken_);
    ++taken_;
    return &ring_[0];
  }

 private:
  Batch const* next_of_thread() {
    std::unique_lock lock{mutex_};
    if (std::exchange(lent_, false)) {
      ++taken_;
      space_.notify_one();
    }
    if (taken_ == pass_.end) return nullptr;
    ready_.wait(lock, [&] { return filled_ > taken_ || error_; });  // ends when the dataset's fill does
    if (filled_ == taken_) std::rethrow_exception(error_);
    lent_ = true;
    return &slot(taken_);
  }

  void run() noexcept {
    try {
      for (std::size_t number = pass_.first; number < pass_.end; ++number) {
        {
          std::unique_lock lock{mutex_};
          space_.wait(lock, [&] { return stopped_ || number - taken_ < ring_.size(); });
          if (stopped_) return;
        }
        fill(slot(number), number);
        {
          std::lock_guard lock{mutex_};
          ++filled_;
        }
        ready_.notify_one();
      }
    } catch (...) {
      {
        std::lock_guard lock{mutex_};
        error_ = std::current_exception();
      }
      ready_.notify_one();
    }
  }

  void fill(Batch& batch, std::size_t number) {
    if (number == pass_.first) pass_.sampler.permute(pass_.epoch, order_);
    std::size_t const begin = number * pass_.batch_size, end = std::min(begin + pass_.batch_size, pass_.share);
    items_.clear();
    for (std::size_t k = begin; k < end; ++k) items_.push_back(pass_.sampler.item(k, order_));
    dataset_->fill(batch, std::span<std::size_t const>{items_});
  }

  Batch& slot(std::size_t number) { return ring_[number % ring_.size()]; }

  std::shared_ptr<D const> dataset_;
  Pass pass_;
  std::vector<Batch> ring_;
  std::vector<std::size_t> order_, items_;

  std::mutex mutex_;
  std::condition_variable space_, ready_;
  std::size_t filled_, taken_;  ///< numbers of the next batch to fill and to lend or being lent
  bool lent_ = false, stopped_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace fleet::data::detail
