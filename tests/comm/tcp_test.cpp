#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fleet/comm/tcp/tcp.hpp>
#include <fleet/core/error.hpp>
#include <fleet/net/store_client.hpp>
#include <fleet/net/store_server.hpp>

#include "comm/laws.hpp"

namespace {

using namespace std::chrono_literals;
using fleet::comm::Communicator;
using fleet::comm::tcp::connect;
using fleet::comm::tcp::Options;
using fleet::net::StoreClient;
using fleet::net::StoreServer;

Options options(StoreServer const& store, int rank, int size) {
  return {.rank = rank,
          .size = size,
          .store = StoreClient{store.endpoint(), {"secret"}, "job"},
          .token = {"secret"},
          .connect_timeout = 30s,
          .timeout = 30s,
          .piece_bytes = 50'000};
}

/// Ranks as threads, each with connections of its own.
void run(int size, test::RankMain const& rank_main) {
  StoreServer store{"127.0.0.1:0", {"secret"}};
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        rank_main(*connect(options(store, rank, size)));
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
  for (int size = 1; size <= 5; ++size) out.push_back({"tcp" + std::to_string(size), run, size});
  return out;
}

}  // namespace

namespace test {
INSTANTIATE_TEST_SUITE_P(Tcp, CommunicatorLaws, testing::ValuesIn(runners()),
                         [](auto const& info) { return info.param.name; });
}
