#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include <fleet/comm/shm/shm.hpp>
#include <fleet/net/store_client.hpp>
#include <fleet/net/store_server.hpp>

#include "comm/laws.hpp"

namespace {

using namespace std::chrono_literals;
using fleet::comm::shm::connect;
using fleet::comm::shm::Options;
using fleet::net::StoreClient;
using fleet::net::StoreServer;

Options options(std::string const& endpoint, int rank, int size, std::size_t chunk_bytes) {
  return {.rank = rank,
          .size = size,
          .store = StoreClient{endpoint, {"secret"}, "job"},
          .connect_timeout = 30s,
          .timeout = 30s,
          .chunk_bytes = chunk_bytes};
}

/// Ranks as threads, each with a mapping of its own.
void run(int size, test::RankMain const& rank_main, std::size_t chunk_bytes) {
  StoreServer store{"127.0.0.1:0", {"secret"}};
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        rank_main(*connect(options(store.endpoint(), rank, size, chunk_bytes)));
      } catch (...) {
        errors[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (auto const& error : errors)
    if (error) std::rethrow_exception(error);
}

std::vector<test::Runner> runners() {
  std::vector<test::Runner> out;
  for (int size = 1; size <= 5; ++size)
    for (std::size_t chunk : {std::size_t{4} << 10, std::size_t{256} << 10})
      out.push_back({"shm" + std::to_string(size) + (chunk == 4096 ? "small" : ""),
                     [chunk](int ranks, test::RankMain const& rank_main) { run(ranks, rank_main, chunk); }, size});
  return out;
}

}  // namespace

namespace test {
INSTANTIATE_TEST_SUITE_P(Shm, CommunicatorLaws, testing::ValuesIn(runners()),
                         [](auto const& info) { return info.param.name; });
}
