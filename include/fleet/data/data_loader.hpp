#pragma once
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <fleet/core/error.hpp>
#include <fleet/data/dataset.hpp>
#include <fleet/data/detail/reader.hpp>
#include <fleet/data/sampler.hpp>

namespace fleet::data {

struct LoaderOptions {
  std::int64_t batch_size = 100;  ///< samples a batch on each worker; at least 1
  bool shuffle = false;           ///< another order in each epoch, the same on all workers
  std::uint64_t seed = 0;         ///< of the shuffling; equal on all workers
  bool drop_last = false;         ///< leave out the last batch of an epoch where it would be short
  std::int64_t prefetch = 2;      ///< batches filled ahead by a thread, 0 to 1024; 0: filled by the caller
};

/// Where a loader stands: the next batch is number `batch` of epoch `epoch`, on every worker alike. The other members
/// tell what it was counted with.
struct LoaderState {
  std::uint64_t epoch = 0, batch = 0;
  std::uint64_t items = 0, ranks = 0, batch_size = 0, seed = 0;
  bool shuffle = false;

  friend bool operator==(LoaderState const&, LoaderState const&) = default;
};

/// The batches of one loop, in the range-for sense: `for (auto const& batch : ...)`. A batch is valid until the next.
template <Dataset D>
class BatchIterator {
 public:
  using value_type = batch_t<D>;
  using difference_type = std::ptrdiff_t;
  using iterator_concept = std::input_iterator_tag;

  value_type const& operator*() const { return *batch_; }
  value_type const* operator->() const { return batch_; }
  BatchIterator& operator++() {
    advance();
    return *this;
  }
  void operator++(int) { advance(); }
  friend bool operator==(BatchIterator const& iterator, std::default_sentinel_t) { return iterator.batch_ == nullptr; }

 private:
  template <Dataset>
  friend class DataLoader;
  template <Dataset>
  friend class EachOnce;

  /// Where a training loop tells its loader how far it is.
  struct Position {
    std::uint64_t epoch = 0, batch = 0;
    bool left = false;  ///< the last loop began this epoch and did not end it
  };

  BatchIterator(std::unique_ptr<detail::Reader<D>> reader, std::shared_ptr<Position> position)
      : reader_(std::move(reader)), position_(std::move(position)) {
    advance();
  }

  void advance() {
    batch_ = reader_->next();
    if (!position_) return;
    if (batch_)
      ++position_->batch;
    else
      *std::exchange(position_, nullptr) = {.epoch = position_->epoch + 1};
  }

  std::unique_ptr<detail::Reader<D>> reader_;
  std::shared_ptr<Position> position_;
  value_type const* batch_ = nullptr;
};

/// Every sample once over all workers, in the dataset's order and without padding, for evaluation. A worker's share
/// may be shorter than another's, or empty. Keeps the loader's dataset, but not the loader.
template <Dataset D>
class EachOnce {
 public:
  BatchIterator<D> begin() const { return {std::make_unique<detail::Reader<D>>(dataset_, pass_, prefetch_), nullptr}; }
  std::default_sentinel_t end() const { return {}; }
  /// Number of this worker's batches.
  std::size_t batches() const { return pass_.end; }

 private:
  template <Dataset>
  friend class DataLoader;
  EachOnce(std::shared_ptr<D const> dataset, detail::Pass const& pass, std::size_t prefetch)
      : dataset_(std::move(dataset)), pass_(pass), prefetch_(prefetch) {}

  std::shared_ptr<D const> dataset_;
  detail::Pass pass_;
  std::size_t prefetch_;
};

/// Deals a dataset to the workers in batches. `for (auto const& batch : loader)` reads one epoch of this worker's
/// share and moves the epoch by itself; every worker gets the same number of batches and of samples, for which
/// samples from the head of the order are repeated. A loop that was left early counts as an epoch; one that is open
/// must end before another begins. All workers use equal options and datasets of equal size.
template <Dataset D>
class DataLoader {
 public:
  using Batch = batch_t<D>;
  using Iterator = BatchIterator<D>;

  /// The dataset stays the caller's and outlives the loops. Throws ConfigurationError for options out of range.
  DataLoader(D const& dataset, Share share, LoaderOptions const& options = {})
      : DataLoader(std::shared_ptr<D const>(std::shared_ptr<void>{}, &dataset), share, options) {}
  /// The loader keeps the dataset.
  DataLoader(D&& dataset, Share share, LoaderOptions const& options = {})
      : DataLoader(std::make_shared<D const>(std::move(dataset)), share, options) {}
  DataLoader(std::shared_ptr<D const> dataset, Share share, LoaderOptions const& options = {})
      : dataset_(std::move(dataset)),
        share_(share),
        options_(options),
        sampler_(static_cast<std::size_t>(dataset_->size()), share, options.shuffle, options.seed) {
    if (options.batch_size < 1) refuse("batch_size", options.batch_size, "at least 1");
    if (options.prefetch < 0 || options.prefetch > 1024) refuse("prefetch", options.prefetch, "0 to 1024");
  }

  /// The next epoch, or the rest of the one that `restore` named. Throws ContractError while another loop is open.
  Iterator begin() {
    if (position_.use_count() > 1)
      throw ContractError(
          "fleet: a loop over this loader is still open; let it end before the next, or make a loader for each");
    if (std::exchange(position_->left, true)) *position_ = {.epoch = position_->epoch + 1, .left = true};
    auto const first = static_cast<std::size_t>(position_->batch);
    detail::Pass const pass{sampler_, sampler_.padded_share(), batch_size(), first, batches(), position_->epoch};
    return {std::make_unique<detail::Reader<D>>(dataset_, pass, prefetch()), position_};
  }
  std::default_sentinel_t end() const { return {}; }

  /// The samples for an evaluation. Does not move the epoch.
  EachOnce<D> each_once() const {
    std::size_t const share = sampler_.own_share();
    Sampler const in_order{sampler_.items(), share_, false, 0};
    return {dataset_, {in_order, share, batch_size(), 0, ceil(share)}, prefetch()};
  }

  /// Number of batches of an epoch, on every worker.
  std::size_t batches() const {
    std::size_t const share = sampler_.padded_share();
    return options_.drop_last ? share / batch_size() : ceil(share);
  }
  /// The epoch of the open loop, or of the next one.
  std::uint64_t epoch() const { return position_->epoch; }
  /// Batches that the open loop has handed out, with the one in hand.
  std::uint64_t batch() const { return position_->batch; }
  D const& dataset() const { return *dataset_; }
  LoaderOptions const& options() const { return options_; }

  /// Asked in a loop, it counts the batch in hand as done: a loader restored to it goes on with the next one.
  LoaderState state() const {
    return {position_->epoch, position_->batch, sampler_.items(), static_cast<std::uint64_t>(share_.ranks),
            batch_size(),     options_.seed,    options_.shuffle};
  }
  /// The next loop continues there, to the bit; one saved with the last batch of an epoch in hand is empty. Throws
  /// ContractError while a loop is open, and ConfigurationError if the state stands within an epoch and was counted
  /// with other items, workers or options.
  void restore(LoaderState const& saved) {
    if (position_.use_count() > 1)
      throw ContractError("fleet: a loader cannot be restored while a loop over it is open");
    if (saved.batch > 0) {
      LoaderState const own = state();
      match("number of samples", saved.items, own.items);
      match("number of workers", saved.ranks, own.ranks);
      match("batch_size", saved.batch_size, own.batch_size);
      match("seed", saved.seed, own.seed);
      match("shuffle", saved.shuffle, own.shuffle);
      if (saved.batch > batches())
        throw ConfigurationError(text("fleet: a saved loader was at batch ", saved.batch, " of an epoch, which has ",
                                      batches(), "; use the options that it was saved with"));
    }
    *position_ = {.epoch = saved.epoch, .batch = saved.batch};
  }

 private:
  using Position = typename Iterator::Position;

  std::size_t batch_size() const { return static_cast<std::size_t>(options_.batch_size); }
  std::size_t prefetch() const { return static_cast<std::size_t>(options_.prefetch); }
  std::size_t ceil(std::size_t share) const { return share / batch_size() + (share % batch_size() ? 1 : 0); }

  [[noreturn]] static void refuse(std::string_view option, std::int64_t value, std::string_view range) {
    throw ConfigurationError(text("fleet: LoaderOptions::", option, " is ", value, "; give ", range));
  }
  static void match(std::string_view what, std::uint64_t saved, std::uint64_t own) {
    if (saved != own)
      throw ConfigurationError(text("fleet: a loader saved within an epoch had ", what, " ", saved, ", this one has ",
                                    own, "; use the same, or continue from the end of an epoch"));
  }

  std::shared_ptr<D const> dataset_;
  Share share_;
  LoaderOptions options_;
  Sampler sampler_;
  std::shared_ptr<Position> position_ = std::make_shared<Position>();
};

template <class D>
DataLoader(std::shared_ptr<D>, Share, LoaderOptions const& = {}) -> DataLoader<std::remove_const_t<D>>;

}  // namespace fleet::data
