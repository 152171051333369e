#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <fleet/comm/tcp/tcp.hpp>
#include <fleet/core/error.hpp>
#include <fleet/net/address.hpp>
#include <fleet/net/interfaces.hpp>
#include <fleet/net/socket.hpp>
#include <fleet/net/store_client.hpp>
#include <fleet/net/store_server.hpp>

#include "support/processes.hpp"

namespace {

using namespace std::chrono_literals;
using fleet::Deadline;
using fleet::TransportError;
using fleet::comm::Communicator;
using fleet::comm::tcp::Options;
using fleet::net::StoreClient;
using fleet::net::StoreServer;
using Clock = std::chrono::steady_clock;

Options options(std::string const& store, int rank, int size) {
  return {.rank = rank,
          .size = size,
          .store = StoreClient{store, {"secret"}, "job"},
          .token = {"secret"},
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

void reduce_for_ever(Communicator& comm, std::vector<float>& data) { comm.all_reduce(std::span{data}); }

TEST(Faults, a_killed_rank_is_named_by_all_survivors) {
  test::Processes ranks{4, [](int rank, std::string const& store) {
                          auto const comm = fleet::comm::tcp::connect(options(store, rank, 4));
                          std::vector<float> data(1'000'000);
                          auto const text = failure_of([&] { reduce_for_ever(*comm, data); });
                          auto const again = failure_of([&] { comm->barrier(); });
                          return again.find("lost of 2") == 0 && seconds_in(again) < 0.5 ? text
                                                                                         : "not broken: " + again;
                        }};
  StoreServer store{"127.0.0.1:0", {"secret"}};
  ranks.go(store.endpoint());
  std::this_thread::sleep_for(600ms);
  ranks.signal(2, SIGKILL);
  auto const outcomes = ranks.wait_all();
  EXPECT_TRUE(outcomes[2].killed_by(SIGKILL));
  for (int rank : {0, 1, 3}) {
    auto const& outcome = outcomes[static_cast<std::size_t>(rank)];
    EXPECT_EQ(outcome.text.find("lost of 2 in all_reduce"), 0u) << outcome.text;
    EXPECT_TRUE(outcome.contains("rank 2 at 127.0.0.1:")) << outcome.text;
    EXPECT_LT(outcome.seconds, 5.6);
    EXPECT_EQ(outcome.status, 0);
  }
}

TEST(Faults, a_stopped_rank_is_named_between_T_and_T_plus_3_s) {
  test::Processes ranks{4, [](int rank, std::string const& store) {
                          auto settings = options(store, rank, 4);
                          settings.timeout = 2s;
                          auto const comm = fleet::comm::tcp::connect(settings);
                          std::vector<float> data(1'000'000);
                          return failure_of([&] { reduce_for_ever(*comm, data); });
                        }};
  StoreServer store{"127.0.0.1:0", {"secret"}};
  ranks.go(store.endpoint());
  std::this_thread::sleep_for(600ms);
  ranks.signal(2, SIGSTOP);
  for (int rank : {0, 1, 3}) {
    auto const outcome = ranks.wait(rank);
    EXPECT_EQ(outcome.text.find("silent of 2 in all_reduce"), 0u) << outcome.text;
    EXPECT_GE(seconds_in(outcome.text), 1.9) << outcome.text;
    EXPECT_LE(seconds_in(outcome.text), 5.0) << outcome.text;
  }
  ranks.signal(2, SIGCONT);
  EXPECT_TRUE(ranks.wait(2).contains("rank 2")) << "a rank that wakes up too late must learn of it";
}

TEST(Faults, a_rank_that_never_makes_the_call_is_named) {
  test::Processes ranks{3, [](int rank, std::string const& store) -> std::string {
                          auto settings = options(store, rank, 3);
                          settings.timeout = 1s;
                          auto const comm = fleet::comm::tcp::connect(settings);
                          if (rank == 1) {
                            std::this_thread::sleep_for(4s);
                            return "slept";
                          }
                          return failure_of([&] { comm->barrier(); });
                        }};
  StoreServer store{"127.0.0.1:0", {"secret"}};
  ranks.go(store.endpoint());
  auto const outcomes = ranks.wait_all();
  for (int rank : {0, 2})
    EXPECT_EQ(outcomes[static_cast<std::size_t>(rank)].text.find("silent of 1 in barrier"), 0u)
        << outcomes[static_cast<std::size_t>(rank)].text;
}

TEST(Faults, an_exit_between_calls_is_a_loss_and_a_goodbye_is_none) {
  for (bool const orderly : {false, true}) {
    test::Processes ranks{3, [orderly](int rank, std::string const& store) -> std::string {
                            auto comm = fleet::comm::tcp::connect(options(store, rank, 3));
                            for (int i = 0; i < 10; ++i) comm->barrier();
                            if (rank == 1 && orderly) {
                              comm.reset();
                              return "left";
                            }
                            if (rank == 1) ::_exit(3);
                            float one = 1;
                            return failure_of([&] { comm->all_reduce(std::span{&one, 1}); });
                          }};
    StoreServer store{"127.0.0.1:0", {"secret"}};
    ranks.go(store.endpoint());
    auto const outcomes = ranks.wait_all();
    for (int rank : {0, 2}) {
      auto const& outcome = outcomes[static_cast<std::size_t>(rank)];
      EXPECT_EQ(outcome.text.find(orderly ? "left of 1 in all_reduce" : "lost of 1 in all_reduce"), 0u) << outcome.text;
      EXPECT_LT(outcome.seconds, 5);
    }
  }
}

TEST(Faults, leaving_after_the_last_call_harms_nobody) {
  test::Processes ranks{3, [](int rank, std::string const& store) -> std::string {
                          for (int round = 0; round < 5; ++round) {
                            auto settings = options(store, rank, 3);
                            settings.group = fleet::text("round", round);
                            auto const comm = fleet::comm::tcp::connect(settings);
                            std::vector<float> data(200'000, 1);
                            comm->all_reduce(std::span{data});
                            comm->broadcast(std::span{data}, round % 3);
                            if (data.back() != 3) return "wrong";
                          }
                          return "good";
                        }};
  StoreServer store{"127.0.0.1:0", {"secret"}};
  ranks.go(store.endpoint());
  for (auto const& outcome : ranks.wait_all()) EXPECT_EQ(outcome.text, "good");
}

TEST(Faults, a_mismatch_is_reported_on_every_rank_before_the_deadline) {
  using Main = std::function<void(Communicator&)>;
  std::vector<float> data(100'000), short_data(7), other(8);
  std::vector<double> doubles(7);
  auto const sum = [&](auto& buffer) -> Main {
    return [&](Communicator& comm) { comm.all_reduce(std::span{buffer}); };
  };
  std::vector<std::pair<Main, Main>> const pairs{
      {sum(short_data), sum(other)},    // a size
      {sum(data), sum(short_data)},     // another algorithm, and so other partners
      {sum(short_data), sum(doubles)},  // a type
      {sum(short_data), [](Communicator& comm) { comm.barrier(); }},
      {[&](Communicator& comm) { comm.broadcast(std::span{data}, 0); },
       [&](Communicator& comm) { comm.broadcast(std::span{data}, 1); }},
      {sum(data), [&](Communicator& comm) { comm.all_reduce(std::span{data}, fleet::comm::ReduceOp::max); }},
      {sum(short_data), [&](Communicator& comm) { comm.receive(std::span{short_data}, 0, 9); }},
  };
  for (std::size_t which = 0; which < pairs.size(); ++which) {
    test::Processes ranks{4, [&](int rank, std::string const& store) {
                            auto settings = options(store, rank, 4);
                            // Receiving what is never sent is noticed at the deadline only.
                            if (which == pairs.size() - 1) settings.timeout = 1s;
                            auto const comm = fleet::comm::tcp::connect(settings);
                            return failure_of([&] { (rank == 2 ? pairs[which].second : pairs[which].first)(*comm); });
                          }};
    StoreServer store{"127.0.0.1:0", {"secret"}};
    ranks.go(store.endpoint());
    auto const outcomes = ranks.wait_all();
    for (auto const& outcome : outcomes) {
      EXPECT_EQ(outcome.text.find("mismatch"), 0u) << which << ": " << outcome.text;
      EXPECT_LT(outcome.seconds, 10);
    }
    for (auto const* part : {"rank 2", " called ", "; rank "})
      EXPECT_TRUE(outcomes[2].contains(part)) << outcomes[2].text;
  }
}

TEST(Faults, strangers_at_the_door_disturb_nobody_and_are_logged_once) {
  test::Processes ranks{2, [](int rank, std::string const& store) {
                          testing::internal::CaptureStderr();
                          if (rank == 1) StoreClient{store, {"secret"}, "job"}.wait("go", Deadline::after(10s));
                          auto const comm = fleet::comm::tcp::connect(options(store, rank, 2));
                          float one = 1;
                          comm->all_reduce(std::span{&one, 1});
                          return fleet::text(one, testing::internal::GetCapturedStderr());
                        }};
  StoreServer store{"127.0.0.1:0", {"secret"}};
  ranks.go(store.endpoint());
  StoreClient const client{store.endpoint(), {"secret"}, "job"};
  auto const entry = client.wait("workers/rank/0", Deadline::after(10s));
  auto const begin = entry.find('\n') + 1;
  auto const door = fleet::net::HostPort::parse(entry.substr(begin, entry.find('\n', begin) - begin));
  std::vector<fleet::net::Socket> strangers;
  for (int i = 0; i < 4; ++i) {
    std::string failure;
    auto socket = fleet::net::connect(fleet::net::resolve(door), Deadline::after(5s), failure);
    ASSERT_TRUE(socket) << failure;
    std::string const words(i == 0 ? 0 : 200, 'G');
    socket->send(std::as_bytes(std::span{words}), Deadline::after(1s));
    strangers.push_back(*std::move(socket));
  }
  client.put("go", "", Deadline::after(5s));
  auto const outcomes = ranks.wait_all();
  EXPECT_EQ(outcomes[1].text, "2");
  EXPECT_EQ(outcomes[0].text.find("2fleet: rank 0 refused a connection from 127.0.0.1"), 0u) << outcomes[0].text;
  EXPECT_EQ(outcomes[0].text.find('\n'), outcomes[0].text.size() - 1) << outcomes[0].text;
}

std::vector<test::Outcome> connect_all(int count, std::function<Options(std::string const&, int)> const& settings) {
  test::Processes ranks{count, [&](int index, std::string const& store) -> std::string {
                          fleet::comm::tcp::connect(settings(store, index))->barrier();
                          return "good";
                        }};
  StoreServer store{"127.0.0.1:0", {"secret"}};
  ranks.go(store.endpoint());
  return ranks.wait_all();
}

TEST(Rendezvous, two_processes_with_one_rank_are_named_on_both) {
  auto const outcomes = connect_all(2, [](auto const& store, int) { return options(store, 1, 3); });
  for (auto const& outcome : outcomes) {
    EXPECT_TRUE(outcome.contains("two processes say that they are rank 1")) << outcome.text;
    EXPECT_LT(outcome.seconds, 5);
  }
}

TEST(Rendezvous, different_sizes_are_named_on_all) {
  auto const outcomes =
      connect_all(3, [](auto const& store, int rank) { return options(store, rank, rank == 2 ? 3 : 4); });
  for (auto const& outcome : outcomes) {
    EXPECT_TRUE(outcome.contains("one of 3 ranks") || outcome.contains("as one of 3")) << outcome.text;
    EXPECT_TRUE(outcome.contains("one of 4")) << outcome.text;
    EXPECT_LT(outcome.seconds, 5);
  }
  EXPECT_THROW(fleet::comm::tcp::connect({.rank = 3, .size = 2}), fleet::ConfigurationError);
  EXPECT_THROW(fleet::comm::tcp::connect({.rank = 0, .size = 2}), fleet::ConfigurationError);
}

TEST(Rendezvous, who_does_not_come_is_named_on_all) {
  for (int const first : {0, 1}) {
    auto const outcomes = connect_all(2, [first](auto const& store, int index) {
      auto settings = options(store, index + first, 3);
      settings.connect_timeout = 2s;
      return settings;
    });
    for (auto const& outcome : outcomes) {
      EXPECT_TRUE(outcome.contains(first == 0 ? "did not come to the store" : "rank 0, which did not come"))
          << outcome.text;
      EXPECT_TRUE(first == 1 || outcome.contains(": 2;")) << outcome.text;
      EXPECT_LT(outcome.seconds, 12);
    }
  }
}

TEST(Rendezvous, a_wrong_token_is_refused_in_time) {
  auto const outcomes = connect_all(2, [](auto const& store, int rank) {
    auto settings = options(store, rank, 2);
    settings.connect_timeout = 1s;
    if (rank == 1) settings.token = {"guess"};
    return settings;
  });
  for (auto const& outcome : outcomes) EXPECT_EQ(outcome.text.find("error: "), 0u) << outcome.text;
  EXPECT_TRUE(outcomes[1].contains("did not prove the job's token")) << outcomes[1].text;
}

bool has_ipv6() {
  auto const all = fleet::net::interfaces();
  return std::any_of(all.begin(), all.end(), [](auto const& one) { return one.address.host() == "::1"; });
}

TEST(Rendezvous, the_place_can_be_chosen) {
  for (auto const* bind : {"lo", "127.0.0.2", "127.0.0.3:0", "localhost", "0.0.0.0", "::1", "[::1]:0"}) {
    if (std::string{bind}.find("::1") != std::string::npos && !has_ipv6()) continue;
    auto const outcomes = connect_all(2, [bind](auto const& store, int rank) {
      auto settings = options(store, rank, 2);
      settings.bind = bind;
      return settings;
    });
    for (auto const& outcome : outcomes) EXPECT_EQ(outcome.text, "good") << bind;
  }
  auto const outcomes = connect_all(2, [](auto const& store, int rank) {
    auto settings = options(store, rank, 2);
    if (rank == 1) settings.bind = "nosuch0";
    return settings;
  });
  for (auto const& outcome : outcomes) {
    EXPECT_TRUE(outcome.contains("nosuch0") && outcome.contains("lo (127.0.0.1)")) << outcome.text;
    EXPECT_LT(outcome.seconds, 5);
  }
}

TEST(Rendezvous, the_limit_of_descriptors_is_named_on_all_ranks) {
  test::Processes ranks{8, [](int rank, std::string const& store) -> std::string {
                          if (rank == 5) {
                            rlimit const limit{20, 20};
                            ::setrlimit(RLIMIT_NOFILE, &limit);
                          }
                          fleet::comm::tcp::connect(options(store, rank, 8))->barrier();
                          return "good";
                        }};
  StoreServer store{"127.0.0.1:0", {"secret"}};
  ranks.go(store.endpoint());
  for (auto const& outcome : ranks.wait_all()) {
    EXPECT_TRUE(outcome.contains("RLIMIT_NOFILE") && outcome.contains("20")) << outcome.text;
    EXPECT_LT(outcome.seconds, 10);
  }
}

TEST(Rendezvous, many_jobs_at_once_do_not_meet_each_other) {
  for (int round = 0; round < 5; ++round) {
    auto const main = [](int index, std::string const& store) -> std::string {
      auto const comm = fleet::comm::tcp::connect(options(store, index, 2));
      float one = static_cast<float>(index);
      comm->all_reduce(std::span{&one, 1});
      return fleet::text(one);
    };
    test::Processes a{2, main}, b{2, main};
    StoreServer store_a{"127.0.0.1:0", {"secret"}}, store_b{"127.0.0.1:0", {"secret"}};
    a.go(store_a.endpoint());
    b.go(store_b.endpoint());
    for (auto* job : {&a, &b})
      for (auto const& outcome : job->wait_all()) EXPECT_EQ(outcome.text, "1");
  }
}

}  // namespace
