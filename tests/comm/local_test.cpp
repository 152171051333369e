#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <fleet/comm/local/local.hpp>
#include <fleet/core/error.hpp>

#include "comm/laws.hpp"

namespace {

using namespace std::chrono_literals;
using fleet::TransportError;
using fleet::comm::Communicator;
using fleet::comm::local::make_group;
using fleet::comm::local::Options;

std::vector<test::Runner> runners() {
  std::vector<test::Runner> out;
  for (int size = 1; size <= 5; ++size)
    out.push_back({"local" + std::to_string(size),
                   [](int ranks, test::RankMain const& rank_main) {
                     fleet::comm::local::run(ranks, rank_main, {.timeout = 30s, .piece_bytes = 50'000});
                   },
                   size});
  return out;
}

}  // namespace

namespace test {
INSTANTIATE_TEST_SUITE_P(Local, CommunicatorLaws, testing::ValuesIn(runners()),
                         [](auto const& info) { return info.param.name; });
}

namespace {

/// What each of two ranks got from its own function.
std::vector<TransportError> failures(std::vector<std::function<void(Communicator&)>> const& mains,
                                     Options const& options = {.timeout = 20s}) {
  auto group = make_group(static_cast<int>(mains.size()), options);
  std::vector<TransportError> out(mains.size(), TransportError{TransportError::Cause::lost, -2, "none", "none"});
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < mains.size(); ++rank) {
    threads.emplace_back([&, rank] {
      try {
        mains[rank](*group[rank]);
      } catch (TransportError const& error) {
        out[rank] = error;
      }
      group[rank].reset();
    });
  }
  for (auto& thread : threads) thread.join();
  return out;
}

bool contains(TransportError const& error, std::string const& part) {
  return std::string{error.what()}.find(part) != std::string::npos;
}

TEST(Local, a_mismatch_is_reported_on_both_sides) {
  std::vector<float> a(4), b(5);
  std::vector<double> c(2);
  auto const sizes = failures(
      {[&](auto& comm) { comm.all_reduce(std::span{a}); }, [&](auto& comm) { comm.all_reduce(std::span{b}); }});
  for (std::size_t rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(sizes[rank].cause(), TransportError::Cause::mismatch);
    EXPECT_EQ(sizes[rank].peer(), 1 - static_cast<int>(rank));
    EXPECT_TRUE(contains(sizes[rank], "4 float32") && contains(sizes[rank], "5 float32")) << sizes[rank].what();
  }
  auto const calls =
      failures({[&](auto& comm) { comm.all_reduce(std::span{a}); }, [&](auto& comm) { comm.barrier(); }});
  for (auto const& error : calls) {
    EXPECT_EQ(error.cause(), TransportError::Cause::mismatch);
    EXPECT_TRUE(contains(error, "all_reduce (sum) of 4 float32") && contains(error, "barrier")) << error.what();
  }
  auto const messages = failures({[&](auto& comm) { comm.send(std::span<float const>{a}, 1); },
                                  [&](auto& comm) { comm.receive(std::span{c}, 0); }});
  EXPECT_EQ(messages[1].cause(), TransportError::Cause::mismatch);
}

TEST(Local, different_counts_of_equal_sum_are_a_mismatch) {
  std::vector<std::size_t> const one{1, 2}, two{2, 1};
  std::vector<float> all(3), share(1);
  auto const errors =
      failures({[&](auto& comm) { comm.all_gather(std::span<float const>{share}, std::span{all}, one); },
                [&](auto& comm) { comm.all_gather(std::span<float const>{share}, std::span{all}, two); }});
  for (auto const& error : errors) EXPECT_EQ(error.cause(), TransportError::Cause::mismatch) << error.what();
}

TEST(Local, the_silent_rank_is_named_by_all) {
  auto const wait = [](auto& comm) { comm.barrier(); };
  auto const errors =
      failures({wait, wait, [](auto&) { std::this_thread::sleep_for(1500ms); }, wait}, {.timeout = 300ms});
  for (std::size_t rank : {0u, 1u, 3u}) {
    EXPECT_EQ(errors[rank].cause(), TransportError::Cause::silent);
    EXPECT_EQ(errors[rank].peer(), 2) << errors[rank].what();
    EXPECT_EQ(errors[rank].operation(), "barrier");
  }
}

TEST(Local, a_rank_that_left_is_named) {
  float one = 1, two = 2;
  auto const errors = failures({[&](auto& comm) {
                                  comm.barrier();
                                  comm.all_reduce(std::span{&one, 1});
                                },
                                [](auto& comm) { comm.barrier(); },
                                [&](auto& comm) {
                                  comm.barrier();
                                  comm.all_reduce(std::span{&two, 1});
                                }});
  for (std::size_t rank : {0u, 2u}) {
    EXPECT_EQ(errors[rank].cause(), TransportError::Cause::left) << errors[rank].what();
    EXPECT_EQ(errors[rank].peer(), 1);
  }
}

TEST(Local, a_call_refused_on_one_rank_ends_on_the_others) {
  std::vector<float> data(4);
  auto const errors = failures({[&](auto& comm) {
                                  comm.broadcast(std::span{data}, 0);
                                  comm.barrier();
                                },
                                [&](auto& comm) {
                                  EXPECT_THROW(comm.broadcast(std::span{data}, 7), fleet::ContractError);
                                  comm.barrier();
                                }});
  EXPECT_EQ(errors[0].cause(), TransportError::Cause::aborted);
  EXPECT_EQ(errors[0].peer(), 1);
  EXPECT_TRUE(contains(errors[0], "there is no rank 7")) << errors[0].what();
}

TEST(Local, a_broken_group_stays_broken) {
  auto group = make_group(2, {.timeout = 100ms});
  EXPECT_THROW(group[0]->barrier(), TransportError);
  float one = 1;
  EXPECT_THROW(static_cast<void>(group[0]->start_all_reduce(std::span{&one, 1})), TransportError);
  EXPECT_THROW(group[1]->barrier(), TransportError);
}

TEST(Local, run_throws_the_first_failure_and_ends_all) {
  try {
    fleet::comm::local::run(3, [](Communicator& comm) {
      if (comm.rank() == 1) throw std::logic_error("the cause");
      comm.barrier();
    });
    FAIL();
  } catch (std::logic_error const& error) {
    EXPECT_STREQ(error.what(), "the cause");
  }
  try {
    fleet::comm::local::run(3, [](Communicator& comm) {
      if (comm.rank() != 1) comm.barrier();
    });
    FAIL();
  } catch (TransportError const& error) {
    EXPECT_EQ(error.cause(), TransportError::Cause::left);
    EXPECT_EQ(error.peer(), 1);
  }
}

TEST(Local, destroying_a_communicator_ends_its_queued_calls) {
  auto group = make_group(2, {.timeout = 20s});
  std::vector<float> data(10);
  auto work = group[0]->start_all_reduce(std::span{data});
  auto next = group[0]->start_all_reduce(std::span{data});
  std::this_thread::sleep_for(20ms);
  group[0].reset();
  EXPECT_THROW(work.wait(), TransportError);
  EXPECT_THROW(next.wait(), fleet::Error);
  EXPECT_THROW(group[1]->barrier(), TransportError);
}

TEST(Local, the_collective_level_compares_calls_first) {
  std::vector<float> a(4), b(5);
  std::vector<float> empty;
  auto const errors = failures(
      {[&](auto& comm) { comm.all_reduce(std::span{empty}); }, [&](auto& comm) { comm.all_reduce(std::span{b}); },
       [&](auto& comm) { comm.all_reduce(std::span{empty}); }},
      {.timeout = 20s, .checks = fleet::CheckLevel::collective});
  for (auto const& error : errors) EXPECT_EQ(error.cause(), TransportError::Cause::mismatch) << error.what();
  EXPECT_EQ(errors[0].peer(), 1);
  EXPECT_EQ(errors[2].peer(), 1);
  fleet::comm::local::run(3,
                          [](Communicator& comm) {
                            float one = 1;
                            comm.all_reduce(std::span{&one, 1});
                            test::require(one == 3, "sum");
                            comm.split(comm.rank() / 2)->barrier();
                          },
                          {.timeout = 20s, .checks = fleet::CheckLevel::collective});
}

}  // namespace
