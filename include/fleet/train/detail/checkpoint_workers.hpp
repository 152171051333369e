#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fleet/comm/communicator.hpp>
#include <fleet/core/error.hpp>

namespace fleet::detail {

/// The workers of a save or a load, of whom the first does the work on the disk. No communicator: one worker.
class CheckpointWorkers {
 public:
  CheckpointWorkers(comm::Communicator* workers, std::chrono::milliseconds timeout)
      : workers_(workers && workers->size() > 1 ? workers : nullptr), timeout_(timeout) {}

  int rank() const { return workers_ ? workers_->rank() : 0; }
  int size() const { return workers_ ? workers_->size() : 1; }
  bool first() const { return rank() == 0; }

  /// What `body` throws on the first worker is thrown on all, in the same words.
  template <class Body>
  void on_first(Body body) {
    std::string fault;
    if (first()) {
      try {
        body();
      } catch (Error const& error) {
        fault = error.what();
      } catch (std::exception const& error) {
        fault = text("fleet: a checkpoint fails: ", std::string_view{error.what()});
      }
      if (!fault.empty() && workers_) fault += text(" (on worker 0 of ", size(), ", which reads and writes for all)");
    }
    broadcast(fault, 0);
    if (!fault.empty()) throw CheckpointError(fault);
  }

  /// A string or a vector of bytes, of any size.
  template <class Bytes>
  void broadcast(Bytes& bytes, int root) {
    if (!workers_) return;
    std::uint64_t size = bytes.size();
    run(comm::Operation::broadcast, DType::uint64, root, std::as_writable_bytes(std::span{&size, 1}));
    bytes.resize(size);
    if (size > 0) run(comm::Operation::broadcast, DType::uint8, root, std::as_writable_bytes(std::span{bytes}));
  }
  void send(std::span<std::byte const> bytes, int to) { run(comm::Operation::send, DType::uint8, to, {}, bytes); }
  void receive(std::span<std::byte> bytes, int from) { run(comm::Operation::receive, DType::uint8, from, bytes); }
  /// On the first worker, the numbers of all.
  std::vector<std::uint64_t> gather(std::uint64_t number) {
    std::vector<std::uint64_t> all(first() ? static_cast<std::size_t>(size()) : 0, number);
    if (workers_)
      run(comm::Operation::gather, DType::uint64, 0, std::as_writable_bytes(std::span{all}),
          std::as_bytes(std::span{&number, 1}));
    return all;
  }
  template <class T>
  void all_reduce_min(std::vector<T>& values) {
    if (workers_ && !values.empty())
      run(comm::Operation::all_reduce, dtype_of<T>, 0, std::as_writable_bytes(std::span{values}), {},
          comm::ReduceOp::min);
  }

 private:
  void run(comm::Operation operation, DType dtype, int peer, std::span<std::byte> output,
           std::span<std::byte const> input = {}, comm::ReduceOp reduce = comm::ReduceOp::sum) {
    workers_->run({.operation = operation,
                   .dtype = dtype,
                   .reduce = reduce,
                   .peer = peer,
                   .output = output,
                   .input = input,
                   .timeout = timeout_});
  }

  comm::Communicator* workers_;
  std::chrono::milliseconds timeout_;
};

}  // namespace fleet::detail
