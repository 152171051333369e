#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fleet/comm/call.hpp>
#include <fleet/comm/work.hpp>
#include <fleet/core/error.hpp>

namespace fleet::comm {

/// What a communicator has done since it was made; for tests, reports and tuning.
struct Counters {
  std::uint64_t operations = 0;
  std::uint64_t bytes = 0;  ///< of the calls' own buffers, not of what crossed the wire
};

/// A fixed group of ranks that compute together. Every rank makes the same calls in the same order with the same
/// counts; `start_*` hands a call to the communication thread, in that same order, and the buffers stay the caller's
/// and untouched until `Work::wait`. Reduction order is fixed, so equal inputs give equal bits in every run and on
/// every rank. A lost, late or different peer ends the call on every rank with a TransportError that names it, and
/// the communicator is broken from then on. Elements are float, double, float16, bfloat16, int32, int64, uint8 or
/// uint64; sums of half types accumulate in float.
class Communicator {
 public:
  virtual ~Communicator() = default;
  Communicator(Communicator const&) = delete;
  Communicator& operator=(Communicator const&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// "local", "tcp", "shm", "mpi" or "nccl".
  virtual std::string engine() const = 0;
  /// The deadline of calls that state none; the default is 5 minutes.
  std::chrono::milliseconds timeout() const { return timeout_; }
  void set_timeout(std::chrono::milliseconds timeout) { timeout_ = timeout; }
  virtual Counters counters() const = 0;

  /// `data` becomes the element-wise sum (max, min, product) over the ranks, on every rank.
  template <Element T>
  void all_reduce(std::span<T> data, ReduceOp op = ReduceOp::sum) {
    run(all_reduce_call(data, op));
  }
  template <Element T>
  [[nodiscard]] Work start_all_reduce(std::span<T> data, ReduceOp op = ReduceOp::sum) {
    return start(all_reduce_call(data, op));
  }

  /// As all_reduce, but only `root` gets the result; the others keep their data.
  template <Element T>
  void reduce(std::span<T> data, int root, ReduceOp op = ReduceOp::sum) {
    run({.operation = Operation::reduce,
         .dtype = dtype_of<T>,
         .reduce = op,
         .peer = root,
         .output = std::as_writable_bytes(data)});
  }

  /// `data` of every rank becomes that of `root`.
  template <Element T>
  void broadcast(std::span<T> data, int root) {
    run(broadcast_call(data, root));
  }
  template <Element T>
  [[nodiscard]] Work start_broadcast(std::span<T> data, int root) {
    return start(broadcast_call(data, root));
  }

  /// Every rank gives `input`, all of one size; `output` holds them in rank order: size() * input.size() elements.
  template <Element T>
  void all_gather(std::span<T const> input, std::span<T> output) {
    run(all_gather_call(input, output, {}));
  }
  template <Element T>
  [[nodiscard]] Work start_all_gather(std::span<T const> input, std::span<T> output) {
    return start(all_gather_call(input, output, {}));
  }
  /// Unequal shares: rank r gives counts[r] elements. `counts` is the same on all ranks and lives until the end.
  template <Element T>
  void all_gather(std::span<T const> input, std::span<T> output, std::span<std::size_t const> counts) {
    run(all_gather_call(input, output, counts));
  }
  /// Unequal shares whose sizes only their owners know: two calls, the sizes first. Returns all shares in rank order.
  template <Element T>
  std::vector<T> all_gather(std::vector<T> const& share) {
    std::vector<std::uint64_t> sizes(static_cast<std::size_t>(size()));
    std::uint64_t const own = share.size();
    all_gather(std::span{&own, 1}, std::span{sizes});
    std::vector<std::size_t> counts(sizes.begin(), sizes.end());
    std::size_t total = 0;
    for (auto count : counts) total += count;
    std::vector<T> all(total);
    all_gather(std::span<T const>{share}, std::span{all}, counts);
    return all;
  }

  /// Reduces `input` over the ranks; rank r gets its r-th part in `output`. Parts are counts[r] long, or as equal as
  /// can be: the first (n mod size) have one element more.
  template <Element T>
  void reduce_scatter(std::span<T const> input, std::span<T> output, ReduceOp op = ReduceOp::sum,
                      std::span<std::size_t const> counts = {}) {
    run({.operation = Operation::reduce_scatter,
         .dtype = dtype_of<T>,
         .reduce = op,
         .output = std::as_writable_bytes(output),
         .input = std::as_bytes(input),
         .counts = counts});
  }

  /// Rank r gets the r-th of the size() equal parts of `input`, which matters on `root` only.
  template <Element T>
  void scatter(std::span<T const> input, std::span<T> output, int root) {
    run({.operation = Operation::scatter,
         .dtype = dtype_of<T>,
         .peer = root,
         .output = std::as_writable_bytes(output),
         .input = std::as_bytes(input)});
  }

  /// `output`, which matters on `root` only, holds every rank's `input` in rank order.
  template <Element T>
  void gather(std::span<T const> input, std::span<T> output, int root) {
    run({.operation = Operation::gather,
         .dtype = dtype_of<T>,
         .peer = root,
         .output = std::as_writable_bytes(output),
         .input = std::as_bytes(input)});
  }

  /// Part r of `input` goes to rank r; part r of `output` came from rank r. Parts are equal.
  template <Element T>
  void all_to_all(std::span<T const> input, std::span<T> output) {
    run({.operation = Operation::all_to_all,
         .dtype = dtype_of<T>,
         .output = std::as_writable_bytes(output),
         .input = std::as_bytes(input)});
  }

  /// The partner calls `receive` with the same count, dtype and tag.
  template <Element T>
  void send(std::span<T const> data, int to, std::uint32_t tag = 0) {
    run({.operation = Operation::send, .dtype = dtype_of<T>, .peer = to, .tag = tag, .input = std::as_bytes(data)});
  }
  template <Element T>
  void receive(std::span<T> data, int from, std::uint32_t tag = 0) {
    run({.operation = Operation::receive,
         .dtype = dtype_of<T>,
         .peer = from,
         .tag = tag,
         .output = std::as_writable_bytes(data)});
  }

  /// Returns once every rank has called it.
  void barrier() { run({.operation = Operation::barrier}); }

  /// Ranks that give the same colour form a new group, ordered by (key, rank). Called by every rank.
  virtual std::shared_ptr<Communicator> split(int colour, int key = 0) = 0;

  /// Blocking, and not blocking. Throw ContractError for sizes that do not fit, TransportError for peers.
  virtual void run(Call const& call) = 0;
  [[nodiscard]] virtual Work start(Call const& call) = 0;

 protected:
  Communicator(int rank, int size) : rank_(rank), size_(size) {}

 private:
  template <Element T>
  static Call all_reduce_call(std::span<T> data, ReduceOp op) {
    return {
        .operation = Operation::all_reduce, .dtype = dtype_of<T>, .reduce = op, .output = std::as_writable_bytes(data)};
  }
  template <Element T>
  static Call broadcast_call(std::span<T> data, int root) {
    return {
        .operation = Operation::broadcast, .dtype = dtype_of<T>, .peer = root, .output = std::as_writable_bytes(data)};
  }
  template <Element T>
  static Call all_gather_call(std::span<T const> input, std::span<T> output, std::span<std::size_t const> counts) {
    return {.operation = Operation::all_gather,
            .dtype = dtype_of<T>,
            .output = std::as_writable_bytes(output),
            .input = std::as_bytes(input),
            .counts = counts};
  }

  int rank_, size_;
  std::chrono::milliseconds timeout_ = std::chrono::minutes{5};
};

}  // namespace fleet::comm
