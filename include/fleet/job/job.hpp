#pragma once
#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fleet/comm/communicator.hpp>
#include <fleet/core/config.hpp>
#include <fleet/job/role.hpp>

namespace fleet {

/// What `init` returns: who this process is, and how it talks to the others. A single process is worker 0 of 1.
/// There are no globals: two jobs can live in one process, as ranks in threads do.
class Job {
 public:
  Job(Role role, std::shared_ptr<comm::Communicator> workers) : role_(std::move(role)), workers_(std::move(workers)) {}

  int worker_index() const { return role_.is_server ? -1 : role_.index; }
  int worker_num() const { return role_.worker_num; }
  int server_index() const { return role_.is_server ? role_.index : -1; }
  int server_num() const { return static_cast<int>(role_.server_endpoints.size()); }
  /// Position among the workers of this host, and their number.
  int local_index() const { return role_.local_index; }
  int local_num() const { return role_.local_num; }
  bool is_worker() const { return !role_.is_server; }
  bool is_server() const { return role_.is_server; }
  bool is_first_worker() const { return is_worker() && role_.index == 0; }

  std::vector<std::string> const& worker_endpoints() const { return role_.worker_endpoints; }
  std::vector<std::string> const& server_endpoints() const { return role_.server_endpoints; }
  /// Where the role came from: "fleetrun", "torchrun", "Open MPI", "Slurm", "user" or "single process".
  std::string const& source() const { return role_.source; }

  /// The group of all workers. Throws ContractError on a server.
  comm::Communicator& communicator() const {
    if (!workers_) throw ContractError("fleet: a server is not in the workers' group; ask only where job.is_worker()");
    return *workers_;
  }

  /// Returns once every worker has called it.
  void barrier() const { communicator().barrier(); }

  /// One value a worker, reduced over all workers; the same result on each.
  template <Element T>
  T all_reduce(T value, comm::ReduceOp op = comm::ReduceOp::sum) const {
    if (worker_num() > 1) communicator().all_reduce(std::span{&value, 1}, op);
    return value;
  }
  /// One value a worker, in rank order, on every worker.
  template <Element T>
  std::vector<T> all_gather(T value) const {
    std::vector<T> all(static_cast<std::size_t>(worker_num()), value);
    if (worker_num() > 1) communicator().all_gather(std::span<T const>{&value, 1}, std::span{all});
    return all;
  }

  /// This worker's contiguous part of a list that is the same on all workers; the first (n mod N) get one more, and
  /// a part may be empty. 5 files on 2 workers: 3 and 2.
  template <class T>
  std::vector<T> file_shard(std::vector<T> const& files) const {
    auto const workers = static_cast<std::size_t>(worker_num()), index = static_cast<std::size_t>(worker_index());
    std::size_t const each = files.size() / workers, longer = files.size() % workers;
    std::size_t const begin = index * each + std::min(index, longer), length = each + (index < longer ? 1 : 0);
    auto const first = files.begin() + static_cast<std::ptrdiff_t>(begin);
    return {first, first + static_cast<std::ptrdiff_t>(length)};
  }

  /// Prints one line on that worker only.
  void print_on_rank(std::string_view message, int rank = 0) const;

 private:
  Role role_;
  std::shared_ptr<comm::Communicator> workers_;
};

}  // namespace fleet

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/job/detail/job_impl.hpp>  // IWYU pragma: export
#endif
