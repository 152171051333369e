#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <filesystem>
#include <iterator>
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

namespace {

std::size_t entries(char const* folder) {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator{folder}, std::filesystem::directory_iterator{}));
}

TEST(Tcp, groups_leave_no_descriptors_and_no_threads) {
  run(2, [](Communicator& comm) {
    auto const use = [&] {
      auto const group = comm.split(0);
      float one = 1;
      group->start_all_reduce(std::span{&one, 1}).wait();
      test::require(one == 2, "sum in a group");
    };
    use();
    comm.barrier();
    auto const descriptors = entries("/proc/self/fd"), threads = entries("/proc/self/task");
    for (int i = 0; i < 200; ++i) use();
    comm.barrier();
    std::this_thread::sleep_for(50ms);  // the other rank may be a step behind
    test::require(entries("/proc/self/fd") <= descriptors + 2 && entries("/proc/self/task") <= threads + 2, "a leak");
    comm.barrier();
  });
}

TEST(Tcp, pieces_change_no_bit) {
  std::size_t const count = (5 * (std::size_t{1} << 20) + 3) / sizeof(float);
  std::vector<std::vector<float>> results;
  for (std::size_t piece : {std::size_t{100'000}, std::size_t{1} << 20, std::size_t{1} << 30}) {
    StoreServer store{"127.0.0.1:0", {"secret"}};
    std::vector<float> result;
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 3; ++rank) {
      threads.emplace_back([&, rank] {
        auto settings = options(store, rank, 3);
        settings.piece_bytes = piece;
        auto data = test::values<float>(rank, count);
        connect(settings)->all_reduce(std::span{data});
        if (rank == 0) result = data;
      });
    }
    for (auto& thread : threads) thread.join();
    results.push_back(result);
  }
  EXPECT_TRUE(test::same_bits<float>(results[0], results[1]));
  EXPECT_TRUE(test::same_bits<float>(results[0], results[2]));
}

TEST(Tcp, the_collective_level_compares_calls_first) {
  StoreServer store{"127.0.0.1:0", {"secret"}};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      auto settings = options(store, rank, 3);
      settings.checks = fleet::CheckLevel::collective;
      auto const comm = connect(settings);
      std::vector<float> data(100, 1);
      comm->all_reduce(std::span{data});
      EXPECT_EQ(data[99], 3);
      try {
        comm->all_reduce(std::span{data}.first(rank == 1 ? 5 : 0));  // the empty ones would not meet the other
        ADD_FAILURE();
      } catch (fleet::TransportError const& error) {
        EXPECT_EQ(error.cause(), fleet::TransportError::Cause::mismatch);
        EXPECT_EQ(error.peer(), rank == 1 ? 0 : 1);
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace
