#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fleet/comm/shm/shm.hpp>
#include <fleet/core/error.hpp>
#include <fleet/net/store_client.hpp>
#include <fleet/net/store_server.hpp>

#include "support/processes.hpp"

/// Faults of ranks that are processes: each is to end all survivors' calls in time, with the guilty rank's name.
/// FLEET_TEST_REPEATS says how often each is tried.
namespace {

using namespace std::chrono_literals;
using fleet::TransportError;
using fleet::comm::Communicator;
using fleet::comm::shm::connect;
using fleet::comm::shm::Options;
using fleet::net::StoreClient;
using fleet::net::StoreServer;
using Clock = std::chrono::steady_clock;

int repeats() {
  auto const* const text = std::getenv("FLEET_TEST_REPEATS");
  return text == nullptr ? 2 : std::max(1, std::atoi(text));
}

Options options(std::string const& store, int rank, int size) {
  return {.rank = rank,
          .size = size,
          .store = StoreClient{store, {"secret"}, "job"},
          .connect_timeout = 20s,
          .timeout = 30s};
}

char const* name(TransportError::Cause cause) {
  constexpr char const* names[] = {"lost", "silent", "left", "mismatch", "refused", "aborted"};
  return names[static_cast<int>(cause)];
}

/// Calls until a TransportError comes, and tells "cause of peer in operation after seconds: text", the seconds being
/// those of the last call.
std::string failure_of(std::function<void()> const& call) {
  for (;;) {
    auto const start = Clock::now();
    try {
      call();
    } catch (TransportError const& error) {
      auto const seconds = std::chrono::duration<double>(Clock::now() - start).count();
      return fleet::text(name(error.cause()), " of ", error.peer(), " in ", error.operation(), " after ", seconds, ": ",
                         error.what());
    }
  }
}

double seconds_in(std::string const& failure) { return std::stod(failure.substr(failure.find(" after ") + 7)); }

bool begins(std::string const& text, std::string const& with) { return text.compare(0, with.size(), with) == 0; }

/// Calls of many kinds and sizes, one after another.
class Mixture {
 public:
  explicit Mixture(Communicator& comm) : comm_(comm), data_(500'000), other_(500'000 * 4) {}

  void operator()() {
    int const step = step_++;
    auto const few = std::span{data_}.first(100), many = std::span{data_};
    switch (step % 5) {
      case 0:
        return comm_.all_reduce(few);
      case 1:
        return comm_.all_reduce(many);
      case 2:
        return comm_.broadcast(many, step / 5 % comm_.size());
      case 3:
        return comm_.all_gather(std::span<float const>{few},
                                std::span{other_}.first(few.size() * static_cast<std::size_t>(comm_.size())));
      default:
        return comm_.start_all_reduce(many).wait();
    }
  }

 private:
  Communicator& comm_;
  std::vector<float> data_, other_;
  int step_ = 0;
};

/// The survivors of a fault make a group of their own at once.
std::string with_new_group(std::string const& store, std::string const& failure, int rank, int lost, int size,
                           std::string const& group) {
  if (rank == lost) return failure;
  auto settings = options(store, rank < lost ? rank : rank - 1, size - 1);
  settings.group = group;
  auto const comm = connect(settings);
  float one = 1;
  comm->all_reduce(std::span{&one, 1});
  return one == static_cast<float>(size - 1) ? failure : "the new group does not work";
}

TEST(ShmFaults, a_killed_rank_is_named_by_all_survivors) {
  for (int round = 0; round < repeats(); ++round) {
    int const size = 2 + round % 3, lost = round % size;
    test::Processes ranks{size, [=](int rank, std::string const& store) {
                            auto const comm = connect(options(store, rank, size));
                            Mixture calls{*comm};
                            auto const text = failure_of([&] { calls(); });
                            auto const again = failure_of([&] { comm->barrier(); });
                            if (!begins(again, fleet::text("lost of ", lost)) || seconds_in(again) > 0.5)
                              return "not broken: " + again;
                            return with_new_group(store, text, rank, lost, size, "survivors");
                          }};
    StoreServer store{"127.0.0.1:0", {"secret"}};
    ranks.go(store.endpoint());
    std::this_thread::sleep_for(300ms + round * 7ms);
    auto const killed = Clock::now();
    ranks.signal(lost, SIGKILL);
    for (int rank = 0; rank < size; ++rank) {
      auto const outcome = ranks.wait(rank);
      if (rank == lost) continue;
      EXPECT_TRUE(begins(outcome.text, fleet::text("lost of ", lost, " in "))) << outcome.text;
      EXPECT_LT(Clock::now() - killed, 5s);
    }
  }
}

TEST(ShmFaults, a_stopped_rank_is_named_between_T_and_T_plus_3_s) {
  for (int round = 0; round < repeats(); ++round) {
    int const size = 2 + round % 4, lost = round % size;
    test::Processes ranks{size, [=](int rank, std::string const& store) {
                            auto settings = options(store, rank, size);
                            settings.timeout = 1s;
                            auto const comm = connect(settings);
                            Mixture calls{*comm};
                            auto const text = failure_of([&] { calls(); });
                            return with_new_group(store, text, rank, lost, size, "survivors");
                          }};
    StoreServer store{"127.0.0.1:0", {"secret"}};
    ranks.go(store.endpoint());
    std::this_thread::sleep_for(300ms + round * 7ms);
    ranks.signal(lost, SIGSTOP);
    for (int rank = 0; rank < size; ++rank) {
      if (rank == lost) continue;
      auto const outcome = ranks.wait(rank);
      ASSERT_TRUE(begins(outcome.text, fleet::text("silent of ", lost, " in "))) << outcome.text;
      EXPECT_GE(seconds_in(outcome.text), 0.9) << outcome.text;
      EXPECT_LE(seconds_in(outcome.text), 4.0) << outcome.text;
    }
    ranks.signal(lost, SIGCONT);
    auto const late = ranks.wait(lost);
    EXPECT_TRUE(late.contains(fleet::text("rank ", lost))) << "a rank that wakes up too late must learn of it";
  }
}

TEST(ShmFaults, a_rank_that_never_makes_the_call_is_named_over_others_that_wait) {
  test::Processes ranks{4, [](int rank, std::string const& store) -> std::string {
                          auto settings = options(store, rank, 4);
                          settings.timeout = 1s;
                          auto const comm = connect(settings);
                          std::vector<float> data(10);
                          comm->barrier();
                          if (rank == 2) {
                            std::this_thread::sleep_for(4s);
                            return "slept";
                          }
                          // 0 waits for 1, which waits for 3, which waits for 2.
                          return failure_of([&] {
                            if (rank == 0) return comm->receive(std::span{data}, 1);
                            if (rank == 1) return comm->receive(std::span{data}, 3);
                            return comm->receive(std::span{data}, 2);
                          });
                        }};
  StoreServer store{"127.0.0.1:0", {"secret"}};
  ranks.go(store.endpoint());
  auto const outcomes = ranks.wait_all();
  for (std::size_t rank : {0u, 1u, 3u}) EXPECT_TRUE(begins(outcomes[rank].text, "silent of 2")) << outcomes[rank].text;
}

TEST(ShmFaults, ranks_that_wait_for_each_other_are_told) {
  test::Processes ranks{2, [](int rank, std::string const& store) {
                          auto settings = options(store, rank, 2);
                          settings.timeout = 1s;
                          auto const comm = connect(settings);
                          std::vector<float> data(10);
                          return failure_of([&] { comm->receive(std::span{data}, 1 - rank); });
                        }};
  StoreServer store{"127.0.0.1:0", {"secret"}};
  ranks.go(store.endpoint());
  for (auto const& outcome : ranks.wait_all()) EXPECT_TRUE(outcome.contains("wait for each other")) << outcome.text;
}

TEST(ShmFaults, an_exit_between_calls_is_a_loss_and_a_goodbye_is_none) {
  for (bool const orderly : {false, true}) {
    test::Processes ranks{3, [orderly](int rank, std::string const& store) -> std::string {
                            auto comm = connect(options(store, rank, 3));
                            for (int i = 0; i < 10; ++i) comm->barrier();
                            if (rank == 1 && orderly) {
                              comm.reset();
                              std::this_thread::sleep_for(1s);
                              return "left";
                            }
                            if (rank == 1) ::_exit(3);
                            float one = 1;
                            return failure_of([&] { comm->all_reduce(std::span{&one, 1}); });
                          }};
    StoreServer store{"127.0.0.1:0", {"secret"}};
    ranks.go(store.endpoint());
    auto const outcomes = ranks.wait_all();
    for (std::size_t rank : {0u, 2u}) {
      EXPECT_TRUE(begins(outcomes[rank].text, orderly ? "left of 1 in all_reduce" : "lost of 1 in all_reduce"))
          << outcomes[rank].text;
      EXPECT_LT(outcomes[rank].seconds, 5);
    }
  }
}

/// What three ranks are told if rank 1 makes another call than the rest.
std::vector<test::Outcome> told(std::function<void(Communicator&)> const& most,
                                std::function<void(Communicator&)> const& one) {
  test::Processes ranks{3, [&](int rank, std::string const& store) {
                          auto const comm = connect(options(store, rank, 3));
                          comm->barrier();
                          return failure_of([&] { (rank == 1 ? one : most)(*comm); });
                        }};
  StoreServer store{"127.0.0.1:0", {"secret"}};
  ranks.go(store.endpoint());
  return ranks.wait_all();
}

TEST(ShmFaults, another_call_is_reported_on_all_ranks) {
  auto const sum = [](auto zero, std::size_t count) {
    return [=](Communicator& comm) {
      std::vector<decltype(zero)> data(count, decltype(zero)(7));
      try {
        comm.all_reduce(std::span{data});
      } catch (TransportError const&) {
        if (data != std::vector<decltype(zero)>(count, decltype(zero)(7))) throw std::runtime_error("changed data");
        throw;
      }
    };
  };
  auto const gather = [](Communicator& comm) {
    std::vector<float> data(10), all(data.size() * static_cast<std::size_t>(comm.size()));
    comm.gather(std::span<float const>{data}, std::span{all}, 0);
  };
  auto const broadcast = [](Communicator& comm) {
    std::vector<float> data(1000);
    comm.broadcast(std::span{data}, 0);
  };
  auto const shares = [](std::vector<std::size_t> const& counts) {
    return [counts](Communicator& comm) {
      std::vector<float> data(counts[static_cast<std::size_t>(comm.rank())]), all(9);
      comm.all_gather(std::span<float const>{data}, std::span{all}, counts);
    };
  };
  struct Pair {
    std::function<void(Communicator&)> most, one;
    char const* call;
  };
  std::vector<Pair> const pairs{
      {sum(1.0f, 1000), sum(1.0f, 1001), "all_reduce (sum) of 1001 float32"},
      {sum(1.0f, 2), sum(std::int32_t{1}, 2), "all_reduce (sum) of 2 int32"},
      {sum(1.0f, 100'000), [](Communicator& comm) { comm.barrier(); }, "barrier"},
      {sum(1.0f, 300'000), gather, "gather of 10 float32"},
      {gather, sum(1.0f, 50), "all_reduce (sum) of 50 float32"},
      {broadcast, sum(1.0f, 1000), "all_reduce (sum) of 1000 float32"},
      {shares({2, 3, 4}), shares({3, 3, 3}), "unequal shares"},
  };
  for (auto const& pair : pairs) {
    auto const outcomes = told(pair.most, pair.one);
    for (std::size_t rank = 0; rank < 3; ++rank) {
      auto const& outcome = outcomes[rank];
      EXPECT_TRUE(begins(outcome.text, rank == 1 ? "mismatch of 0" : "mismatch of 1")) << outcome.text;
      EXPECT_TRUE(outcome.contains(pair.call)) << outcome.text;
      EXPECT_LT(outcome.seconds, 5);
    }
  }
}

TEST(ShmFaults, a_call_refused_on_one_rank_ends_on_the_others) {
  auto const broadcast = [](Communicator& comm) {
    std::vector<float> data(4);
    comm.broadcast(std::span{data}, 0);
    comm.barrier();
  };
  auto const refused = [](Communicator& comm) {
    std::vector<float> data(4);
    try {
      comm.broadcast(std::span{data}, 7);
    } catch (fleet::ContractError const&) {
      return comm.barrier();
    }
  };
  auto const outcomes = told(broadcast, refused);
  for (std::size_t rank : {0u, 2u}) {
    EXPECT_TRUE(begins(outcomes[rank].text, "aborted of 1")) << outcomes[rank].text;
    EXPECT_TRUE(outcomes[rank].contains("there is no rank 7")) << outcomes[rank].text;
  }
}

TEST(ShmFaults, destroying_a_communicator_ends_its_queued_calls) {
  test::Processes ranks{2, [](int rank, std::string const& store) {
                          auto comm = connect(options(store, rank, 2));
                          if (rank == 1) {
                            std::this_thread::sleep_for(300ms);
                            return failure_of([&] { comm->barrier(); });
                          }
                          std::vector<float> data(10);
                          auto work = comm->start_all_reduce(std::span{data});
                          auto next = comm->start_all_reduce(std::span{data});
                          std::this_thread::sleep_for(100ms);
                          comm.reset();
                          try {
                            next.wait();
                            return std::string{"the second call ended well"};
                          } catch (fleet::Error const&) {
                          }
                          return failure_of([&] { work.wait(); });
                        }};
  StoreServer store{"127.0.0.1:0", {"secret"}};
  ranks.go(store.endpoint());
  auto const outcomes = ranks.wait_all();
  EXPECT_TRUE(begins(outcomes[0].text, "aborted of 0 in all_reduce")) << outcomes[0].text;
  EXPECT_TRUE(begins(outcomes[1].text, "aborted of 0 in barrier")) << outcomes[1].text;
  EXPECT_LT(outcomes[0].seconds, 2);
}

}  // namespace
