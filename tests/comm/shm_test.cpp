#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fleet/comm/local/local.hpp>
#include <fleet/comm/shm/shm.hpp>
#include <fleet/core/checks.hpp>
#include <fleet/core/error.hpp>
#include <fleet/net/store_client.hpp>
#include <fleet/net/store_server.hpp>

#include "comm/laws.hpp"
#include "comm/soak.hpp"
#include "support/processes.hpp"

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
void run(int size, test::RankMain const& rank_main, std::size_t chunk_bytes,
         fleet::CheckLevel checks = fleet::CheckLevel::light) {
  StoreServer store{"127.0.0.1:0", {"secret"}};
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        auto settings = options(store.endpoint(), rank, size, chunk_bytes);
        settings.checks = checks;
        rank_main(*connect(settings));
      } catch (...) {
        errors[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (auto const& error : errors)
    if (error) std::rethrow_exception(error);
}

/// Ranks as processes.
void fork_and_run(int size, test::RankMain const& rank_main) {
  test::Processes ranks{size, [&](int rank, std::string const& endpoint) -> std::string {
                          rank_main(*connect(options(endpoint, rank, size, std::size_t{256} << 10)));
                          return "good";
                        }};
  StoreServer store{"127.0.0.1:0", {"secret"}};
  ranks.go(store.endpoint());
  for (auto const& outcome : ranks.wait_all())
    if (outcome.text != "good") throw std::runtime_error(outcome.text);
}

std::vector<test::Runner> runners() {
  std::vector<test::Runner> out;
  for (int size = 1; size <= 5; ++size)
    for (std::size_t chunk : {std::size_t{4} << 10, std::size_t{256} << 10})
      out.push_back({"shm" + std::to_string(size) + (chunk == 4096 ? "small" : ""),
                     [chunk](int ranks, test::RankMain const& rank_main) { run(ranks, rank_main, chunk); }, size});
  for (int size = 2; size <= 5; ++size) out.push_back({"shm" + std::to_string(size) + "processes", fork_and_run, size});
  out.push_back({"shm3collective",
                 [](int ranks, test::RankMain const& rank_main) {
                   run(ranks, rank_main, std::size_t{256} << 10, fleet::CheckLevel::collective);
                 },
                 3});
  return out;
}

}  // namespace

namespace test {
INSTANTIATE_TEST_SUITE_P(Shm, CommunicatorLaws, testing::ValuesIn(runners()),
                         [](auto const& info) { return info.param.name; });
}

namespace {

using fleet::comm::Communicator;
using fleet::comm::ReduceOp;

/// What rank 0 has after reductions of many sizes.
template <class T>
std::vector<std::vector<T>> reductions(Communicator& comm, ReduceOp op) {
  std::vector<std::vector<T>> out;
  for (std::size_t count : {1u, 3u, 8u, 257u, 4095u, 8192u, 8193u, 20'011u, 100'003u, 300'000u}) {
    auto data = test::values<T>(comm.rank(), count, 7);
    for (std::size_t i = 0; i < count; ++i) data[i] = T(static_cast<float>(data[i]) * 1.001f);
    out.push_back(data);
    comm.all_reduce(std::span{out.back()}, op);
    std::size_t const ranks = static_cast<std::size_t>(comm.size()), own = static_cast<std::size_t>(comm.rank());
    std::vector<T> part(count / ranks + (own < count % ranks ? 1 : 0));
    comm.reduce_scatter(std::span<T const>{data}, std::span{part}, op);
    out.push_back(part);
  }
  return out;
}

template <class T>
void require_the_bits_of_local(int size, ReduceOp op) {
  std::vector<std::vector<T>> local, shm;
  fleet::comm::local::run(size, [&](Communicator& comm) {
    auto const out = reductions<T>(comm, op);
    if (comm.rank() == 0) local = out;
  });
  run(
      size,
      [&](Communicator& comm) {
        auto const out = reductions<T>(comm, op);
        if (comm.rank() == 0) shm = out;
      },
      std::size_t{16} << 10);
  ASSERT_EQ(local.size(), shm.size());
  for (std::size_t i = 0; i < local.size(); ++i)
    EXPECT_TRUE(test::same_bits<T>(local[i], shm[i])) << size << " ranks, reduction " << i;
}

TEST(Shm, reduces_to_the_bits_that_ranks_as_threads_get) {
  for (int size = 2; size <= 5; ++size) {
    require_the_bits_of_local<float>(size, ReduceOp::sum);
    require_the_bits_of_local<double>(size, ReduceOp::prod);
    require_the_bits_of_local<fleet::float16>(size, ReduceOp::sum);
    require_the_bits_of_local<fleet::bfloat16>(size, ReduceOp::max);
  }
}

TEST(Shm, a_soak_of_mixed_calls_ends_well_and_twice_with_the_same_bits) {
  std::vector<std::string> runs[2];
  for (auto& digests : runs) {
    test::Processes ranks{4, [](int rank, std::string const& endpoint) {
                            auto const comm = connect(options(endpoint, rank, 4, std::size_t{128} << 10));
                            return std::to_string(test::Soak{*comm, 5}.run(test::soak_operations()));
                          }};
    StoreServer store{"127.0.0.1:0", {"secret"}};
    ranks.go(store.endpoint());
    for (int rank = 0; rank < 4; ++rank) {
      digests.push_back(ranks.wait(rank, 600s).text);
      EXPECT_EQ(digests.back().find("error"), std::string::npos) << digests.back();
    }
  }
  EXPECT_EQ(runs[0], runs[1]);
}

std::size_t entries(char const* folder) {
  auto const all = std::filesystem::directory_iterator{folder};
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST(Shm, leaves_nothing_behind) {
  StoreServer store{"127.0.0.1:0", {"secret"}};
  auto const make_groups = [&](int count, std::string const& name) {
    for (int i = 0; i < count; ++i) {
      std::vector<std::thread> ranks;
      for (int rank = 0; rank < 2; ++rank) {
        ranks.emplace_back([&, rank] {
          auto settings = options(store.endpoint(), rank, 2, std::size_t{64} << 10);
          settings.group = name + std::to_string(i);
          auto const comm = connect(settings);
          std::vector<float> data(30'000, 1.0f);
          comm->start_all_reduce(std::span{data}).wait();
          comm->split(0)->barrier();
        });
      }
      for (auto& rank : ranks) rank.join();
    }
  };
  make_groups(3, "warm");
  auto const descriptors = entries("/proc/self/fd"), threads = entries("/proc/self/task"), names = entries("/dev/shm");
  make_groups(200, "group");
  for (int i = 0; i < 100 && entries("/proc/self/task") != threads; ++i)  // the store's last connection may be open
    std::this_thread::sleep_for(20ms);
  EXPECT_EQ(entries("/proc/self/task"), threads);
  EXPECT_EQ(entries("/proc/self/fd"), descriptors);
  EXPECT_EQ(entries("/dev/shm"), names);
}

/// What the ranks' `connect` throws.
std::vector<std::string> failures_to_connect(std::vector<Options> all) {
  std::vector<std::string> out(all.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < all.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        connect(all[i]);
      } catch (fleet::ConfigurationError const& error) {
        out[i] = std::string{"configuration: "} + error.what();
      } catch (fleet::TransportError const& error) {
        out[i] = "peer " + std::to_string(error.peer()) + ": " + error.what();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  return out;
}

TEST(Shm, settings_that_contradict_each_other_are_refused_on_all_ranks) {
  StoreServer store{"127.0.0.1:0", {"secret"}};
  auto const of = [&](int rank, int size, std::size_t chunk, char const* group) {
    auto out = options(store.endpoint(), rank, size, chunk);
    out.group = group;
    return out;
  };
  for (auto const& text : failures_to_connect({of(0, 2, 65'536, "sizes"), of(1, 3, 65'536, "sizes")})) {
    EXPECT_EQ(text.find("configuration: "), 0u) << text;
    EXPECT_NE(text.find("2 ranks"), std::string::npos) << text;
    EXPECT_NE(text.find("3 ranks"), std::string::npos) << text;
  }
  for (auto const& text : failures_to_connect({of(0, 2, 65'536, "chunks"), of(1, 2, 131'072, "chunks")}))
    EXPECT_EQ(text.find("configuration: "), 0u) << text;
  for (int rank : {0, 1}) {
    auto const texts = failures_to_connect({of(0, 3, 65'536, rank == 0 ? "zeros" : "ones"),
                                            of(rank, 3, 65'536, rank == 0 ? "zeros" : "ones"),
                                            of(1, 3, 65'536, rank == 0 ? "zeros" : "ones")});
    for (auto const& text : texts)
      EXPECT_NE(text.find("two processes say that they are rank " + std::to_string(rank)), std::string::npos) << text;
  }
  EXPECT_EQ(failures_to_connect({of(3, 3, 65'536, "none")})[0].find("configuration: "), 0u);
  EXPECT_EQ(failures_to_connect({of(0, 3, 64, "small")})[0].find("configuration: "), 0u);
}

TEST(Shm, a_rank_that_does_not_come_is_named) {
  StoreServer store{"127.0.0.1:0", {"secret"}};
  std::vector<Options> all;
  for (int rank : {0, 1, 3}) {
    all.push_back(options(store.endpoint(), rank, 4, std::size_t{64} << 10));
    all.back().connect_timeout = 700ms;
  }
  for (auto const& text : failures_to_connect(all)) EXPECT_EQ(text.find("peer 2: "), 0u) << text;
}

}  // namespace
