#pragma once
#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include <fleet/comm/communicator.hpp>
#include <fleet/core/checks.hpp>
#include <fleet/core/config.hpp>
#include <fleet/core/function_ref.hpp>

namespace fleet::comm::local {

struct Options {
  std::chrono::milliseconds timeout = std::chrono::minutes{5};
  std::size_t piece_bytes = std::size_t{256} << 10;
  CheckLevel checks = CheckLevel::light;
};

/// A group of ranks that are threads of this process: element r is for the thread that plays rank r.
FLEET_BODY std::vector<std::shared_ptr<Communicator>> make_group(int size, Options const& options = {});

/// Runs `rank_main` on `size` threads, one a rank, and returns when all have ended. A rank that throws or returns
/// early ends the waiting calls of the others. Throws what the first rank to fail threw.
FLEET_BODY void run(int size, FunctionRef<void(Communicator&)> rank_main, Options const& options = {});

}  // namespace fleet::comm::local

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/comm/local/detail/local_impl.hpp>  // IWYU pragma: export
#endif
