#pragma once
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include <fleet/comm/engine.hpp>
#include <fleet/comm/local/detail/local_group.hpp>
#include <fleet/comm/local/detail/local_transport.hpp>
#include <fleet/comm/local/local.hpp>
#include <fleet/core/error.hpp>
#include <fleet/core/thread.hpp>

namespace fleet::comm::local {
namespace detail {

inline std::shared_ptr<Group> new_group(int size) {
  if (size < 1) throw ConfigurationError(text("fleet: a group has at least 1 rank, not ", size));
  std::vector<int> labels(static_cast<std::size_t>(size));
  std::iota(labels.begin(), labels.end(), 0);
  return std::make_shared<Group>(std::move(labels));
}

inline std::shared_ptr<Communicator> join(std::shared_ptr<Group> const& group, int rank, Options const& options) {
  return std::make_shared<Engine>(std::make_unique<LocalTransport>(group, rank, options.piece_bytes), options.timeout,
                                  options.checks);
}

/// Tells the others why rank `rank` goes.
inline void abort(Group& group, int rank, std::exception_ptr const& error) {
  std::string reason = "an exception of an unknown type";
  try {
    std::rethrow_exception(error);
  } catch (std::exception const& known) {
    reason = known.what();
  } catch (...) {
  }
  std::lock_guard lock{group.mutex};
  group.fail({TransportError::Cause::aborted, rank, rank, text(group.name(rank), " ended with an error: ", reason)});
}

}  // namespace detail

FLEET_BODY std::vector<std::shared_ptr<Communicator>> make_group(int size, Options const& options) {
  auto const group = detail::new_group(size);
  std::vector<std::shared_ptr<Communicator>> out;
  out.reserve(static_cast<std::size_t>(size));
  for (int rank = 0; rank < size; ++rank) out.push_back(detail::join(group, rank, options));
  return out;
}

FLEET_BODY void run(int size, FunctionRef<void(Communicator&)> rank_main, Options const& options) {
  auto const group = detail::new_group(size);
  std::mutex mutex;
  std::exception_ptr first;
  auto const play = [&](int rank) {
    auto communicator = detail::join(group, rank, options);
    try {
      rank_main(*communicator);
    } catch (...) {
      auto const error = std::current_exception();
      {
        std::lock_guard lock{mutex};
        if (!first) first = error;
      }
      detail::abort(*group, rank, error);
    }
  };
  std::vector<std::thread> threads;
  try {
    for (int rank = 0; rank < size; ++rank)
      threads.push_back(start_thread(text("rank ", rank), [&play, rank] { play(rank); }));
  } catch (...) {
    {
      std::lock_guard lock{mutex};
      if (!first) first = std::current_exception();
    }
    detail::abort(*group, static_cast<int>(threads.size()), std::current_exception());
  }
  for (auto& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

}  // namespace fleet::comm::local
