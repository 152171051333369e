#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "launch/fleetrun_process.hpp"
#include "support/files.hpp"

namespace {

using test::Fleetrun;

/// Whether somebody could listen on the port right now.
bool port_is_free(int port) {
  int const probe = ::socket(AF_INET, SOCK_STREAM, 0);
  int const on = 1;
  ::setsockopt(probe, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  bool const free =
      ::bind(probe, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 && ::listen(probe, 1) == 0;
  ::close(probe);
  return free;
}

int number_after(std::string const& text, std::string const& words) {
  auto const at = text.find(words);
  return at == std::string::npos ? -1 : std::atoi(text.c_str() + at + words.size());
}

struct Ranks : testing::Test {
  test::TemporaryFolder folder;

  std::unique_ptr<Fleetrun> start(int ranks, std::vector<std::string> words, std::vector<std::string> options = {}) {
    options.push_back("--nproc_per_node=" + std::to_string(ranks));
    options.emplace_back(RANK_PROGRAM);
    options.insert(options.end(), words.begin(), words.end());
    return std::make_unique<Fleetrun>(folder.path(), options);
  }
};

TEST_F(Ranks, FindEachOther) {
  for (int const ranks : {1, 2, 4}) {
    auto const run = start(ranks, {"sum"});
    EXPECT_EQ(run->wait(), 0) << run->printed();
    for (int rank = 0; rank < ranks; ++rank)
      EXPECT_NE(
          run->printed().find("[rank " + std::to_string(rank) + "] sum " + std::to_string(ranks * (ranks + 1) / 2)),
          std::string::npos)
          << run->printed();
  }
}

TEST_F(Ranks, OfTwoJobsAtOnceDoNotMeet) {
  for (int i = 0; i < 20; ++i) {
    auto const one = start(2, {"sum"}), other = start(3, {"sum"});
    EXPECT_EQ(one->wait(), 0) << one->printed();
    EXPECT_EQ(other->wait(), 0) << other->printed();
    EXPECT_NE(one->printed().find("sum 3\n"), std::string::npos);
    EXPECT_NE(other->printed().find("sum 6\n"), std::string::npos);
  }
}

TEST_F(Ranks, MeetOnOneExplicitPortTimeAfterTime) {
  auto const port = "--http_port=" + std::to_string(20000 + ::getpid() % 10000);
  for (int i = 0; i < 10; ++i) {
    auto const run = start(2, {"sum"}, {port});
    ASSERT_EQ(run->wait(), 0) << i << ": " << run->printed();
  }
}

TEST_F(Ranks, ListenOnTheirOwnPortsTimeAfterTime) {
  auto const port = std::to_string(18000 + ::getpid() % 2000);
  for (int i = 0; i < 3; ++i) {
    Fleetrun run{folder.path(), {"--nproc_per_node=2", RANK_PROGRAM, "sum"}, {{"FLAGS_START_PORT", port}}};
    ASSERT_EQ(run.wait(), 0) << i << ": " << run.printed();
  }
}

TEST_F(Ranks, OfSeveralHostsMeet) {
  std::vector<std::string> const arguments{"--ips=127.0.0.2,127.0.0.3",
                                           "--http_port=" + std::to_string(30000 + ::getpid() % 2000),
                                           "--nproc_per_node=2", RANK_PROGRAM, "sum"};
  Fleetrun second{folder.path(), arguments, {{"FLEET_JOB_TOKEN", "secret"}, {"POD_IP", "127.0.0.3"}}};
  Fleetrun first{folder.path(), arguments, {{"FLEET_JOB_TOKEN", "secret"}, {"POD_IP", "127.0.0.2"}}};
  EXPECT_EQ(first.wait(), 0) << first.printed();
  EXPECT_EQ(second.wait(), 0) << second.printed();
  EXPECT_NE(first.printed().find("[rank 1] sum 10\n"), std::string::npos);
  EXPECT_NE(second.printed().find("[rank 3] sum 10\n"), std::string::npos);
}

TEST_F(Ranks, WithAnotherSecretAreRefused) {
  std::vector<std::string> const arguments{"--ips=127.0.0.2,127.0.0.3",
                                           "--http_port=" + std::to_string(30000 + ::getpid() % 2000), "--timeout=2",
                                           RANK_PROGRAM, "sum"};
  Fleetrun first{folder.path(), arguments, {{"FLEET_JOB_TOKEN", "secret"}, {"POD_IP", "127.0.0.2"}}};
  Fleetrun second{folder.path(), arguments, {{"FLEET_JOB_TOKEN", "guess"}, {"POD_IP", "127.0.0.3"}}};
  EXPECT_EQ(second.wait(), 1) << second.printed();
  EXPECT_NE(second.printed().find("token"), std::string::npos) << second.printed();
  EXPECT_EQ(first.wait(), 1) << first.printed();
}

TEST_F(Ranks, ThatLeaveAreBlamed) {
  auto const run = start(4, {"leave", "2"});
  EXPECT_EQ(run->wait(std::chrono::seconds{10}), 3) << run->printed();
  EXPECT_NE(run->printed().find("rank 2 failed first: exit code 3"), std::string::npos) << run->printed();
  EXPECT_TRUE(run->nothing_left());
}

// FLEET_KILL_REPEATS=30 makes it a soak test.
TEST_F(Ranks, KilledAtARandomMomentEndTheJob) {
  char const* const wished = std::getenv("FLEET_KILL_REPEATS");
  int const repeats = wished ? std::atoi(wished) : 4;
  std::mt19937 random{1};
  for (int i = 0; i < repeats; ++i) {
    int const victim = static_cast<int>(random() % 3), delay = static_cast<int>(random() % 300);
    SCOPED_TRACE("run " + std::to_string(i) + ", rank " + std::to_string(victim) + " after " + std::to_string(delay) +
                 " ms");
    // Every second time the moment may lie before the ranks have met.
    Fleetrun run{
        folder.path(),
        {"--nproc_per_node=3", "sh", "-c", "echo process of $PADDLE_TRAINER_ID is $$; exec \"$0\" loop", RANK_PROGRAM}};
    auto const name = std::to_string(victim);
    ASSERT_TRUE(run.await("process of " + name + " is ")) << run.printed();
    for (int rank = 0; rank < 3 && i % 2 == 0; ++rank)
      ASSERT_TRUE(run.await("ready " + std::to_string(rank))) << run.printed();
    ::usleep(static_cast<useconds_t>(delay) * 1000);
    ::kill(number_after(run.printed(), "process of " + name + " is "), SIGKILL);
    EXPECT_EQ(run.wait(std::chrono::seconds{10}), 128 + 9) << run.printed();
    EXPECT_NE(run.printed().find("rank " + name + " failed first: signal 9 (SIGKILL)"), std::string::npos)
        << run.printed();
    EXPECT_TRUE(run.printed().ends_with("exit status 137\n"));
    EXPECT_TRUE(run.nothing_left());
    int const port = number_after(run.printed(), "PADDLE_GLOO_HTTP_ENDPOINT | 127.0.0.1:");
    ASSERT_GT(port, 0) << run.printed();
    EXPECT_TRUE(port_is_free(port));
  }
}

}  // namespace
