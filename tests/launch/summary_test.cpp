#include <gtest/gtest.h>
#include <fleet/launch/summary.hpp>

#include <chrono>
#include <csignal>
#include <string>
#include <vector>

namespace {

using fleet::launch::Ending;
using fleet::launch::failure_summary;
using fleet::launch::first_cause;

Ending ending(int rank, int order, int code, bool by_signal = false) {
  Ending one;
  one.label = "rank " + std::to_string(rank);
  one.host = "node7";
  one.rank = rank;
  one.pid = 1000 + rank;
  one.code = code;
  one.by_signal = by_signal;
  one.order = order;
  one.after = std::chrono::milliseconds{1000 + order};
  return one;
}

TEST(Summary, BlamesTheFirstFailure) {
  std::vector<Ending> const endings{ending(0, 2, 1), ending(1, 0, 0), ending(2, 1, 7)};
  EXPECT_EQ(first_cause(endings), 2u);
  EXPECT_EQ(first_cause(std::vector<Ending>{ending(0, 0, 0), ending(1, 1, 0)}), std::nullopt);
}

TEST(Summary, NeverBlamesWhoWasToldToEnd) {
  std::vector<Ending> endings{ending(0, 0, SIGTERM, true), ending(1, 1, 3)};
  endings[0].told = true;
  EXPECT_EQ(first_cause(endings), 1u);
}

TEST(Summary, BlamesAKilledRankOverThoseThatNoticedItSooner) {
  std::vector<Ending> endings{ending(0, 0, 1), ending(1, 1, SIGKILL, true), ending(2, 2, SIGABRT, true)};
  EXPECT_EQ(first_cause(endings), 1u);
  endings[1].after += std::chrono::seconds{5};
  EXPECT_EQ(first_cause(endings), 0u) << "that was later, and another story";
}

TEST(Summary, FollowsWhatRanksSayOfEachOther) {
  std::vector<Ending> endings{ending(0, 0, 1), ending(1, 1, 1), ending(2, 2, 3)};
  endings[0].error.add("fleet: rank 0: all_reduce: rank 1 at 127.0.0.1:5 said that it met an error");
  endings[1].error.add("terminate called after throwing an instance of 'fleet::TransportError'");
  endings[1].error.add("  what():  fleet: rank 1: all_reduce: rank 2 at 127.0.0.1:4 has left");
  EXPECT_EQ(first_cause(endings), 2u);
  endings[2].code = 0;
  EXPECT_EQ(first_cause(endings), 1u) << "rank 2 did not fail";
  endings[1].error.add("fleet: rank 1: rank 0 is to blame");
  EXPECT_TRUE(first_cause(endings).has_value()) << "a circle ends";
}

TEST(Summary, TellsTheWholeStory) {
  std::vector<Ending> endings{ending(0, 1, 1), ending(1, 0, SIGKILL, true), ending(2, 2, SIGTERM, true),
                              ending(3, 3, 0)};
  endings[1].error.add("disk quota exceeded");
  endings[2].told = true;
  auto const text = failure_summary(endings, 1);
  for (char const* part :
       {"rank 1 failed first: signal 9 (SIGKILL)", "host node7", "process 1001", "1.0 s after the start",
        "Out of memory", "    disk quota exceeded\n", "    rank 0 (process 1000): exit code 1\n",
        "    rank 2 (process 1002): signal 15 (SIGTERM), after fleetrun told it to end\n",
        "    rank 3 (process 1003): had ended normally\n"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  EXPECT_TRUE(text.ends_with("rank 1 failed with signal 9 (SIGKILL); exit status 137"));
}

TEST(Summary, ShowsTheOutputWhereTheErrorStreamIsEmpty) {
  std::vector<Ending> endings{ending(0, 0, 2)};
  EXPECT_NE(failure_summary(endings, 0).find("it printed nothing"), std::string::npos);
  for (int i = 0; i < 30; ++i) endings[0].output.add("line " + std::to_string(i));
  auto const text = failure_summary(endings, 0);
  EXPECT_EQ(text.find("line 9\n"), std::string::npos);
  EXPECT_NE(text.find("    line 10\n"), std::string::npos);
  EXPECT_NE(text.find("    line 29\n"), std::string::npos);
}

}  // namespace
