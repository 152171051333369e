#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "launch/fleetrun_process.hpp"
#include "support/files.hpp"

namespace {

using test::Fleetrun;
using test::lines_of;

std::string const workers = "--nproc_per_node=";

/// fleetrun N sh -c script
std::vector<std::string> shell_ranks(int number, std::string const& script, std::vector<std::string> options = {}) {
  options.push_back(workers + std::to_string(number));
  for (auto const& word : {std::string{"sh"}, std::string{"-c"}, script}) options.push_back(word);
  return options;
}

std::size_t count(std::string const& text, std::string const& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

/// What comes after the last line that a rank printed.
std::string summary_of(std::string const& printed) {
  auto const at = printed.rfind(" failed first: ");
  return at == std::string::npos ? "" : printed.substr(printed.rfind('\n', at) + 1);
}

struct Fleetruns : testing::Test {
  test::TemporaryFolder folder;
};

TEST_F(Fleetruns, EndsWithTheFirstFailureAndItsCause) {
  Fleetrun run{folder.path(), shell_ranks(4, R"sh(
    if [ $PADDLE_TRAINER_ID = 2 ]; then sleep 0.5; echo disk quota exceeded >&2; touch failed; exit 7; fi
    while [ ! -e failed ]; do sleep 0.05; done
    sleep 0.3; echo "connection to rank 2 is lost"; echo "connection error" >&2; exit 1)sh")};
  EXPECT_EQ(run.wait(), 7);
  auto const summary = summary_of(run.printed());
  EXPECT_NE(summary.find("rank 2 failed first: exit code 7"), std::string::npos) << run.printed();
  EXPECT_NE(summary.find("host 127.0.0.1, process "), std::string::npos);
  EXPECT_NE(summary.find("    disk quota exceeded\n"), std::string::npos);
  for (char const* other : {"    rank 0 (process ", "    rank 1 (process ", "    rank 3 (process "})
    EXPECT_NE(summary.find(other), std::string::npos) << summary;
  EXPECT_EQ(count(summary, "): exit code 1\n"), 3u) << summary;
  EXPECT_TRUE(run.printed().ends_with("rank 2 failed with exit code 7; exit status 7\n")) << run.printed();
  EXPECT_EQ(count(run.printed(), "] connection error\n"), 3u);
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_TRUE(std::filesystem::exists(folder.path("log/workerlog." + std::to_string(rank))));
  EXPECT_EQ(test::read_file(folder.path("log/workerlog.0")), "connection to rank 2 is lost\nconnection error\n");
  EXPECT_TRUE(run.nothing_left());
}

TEST_F(Fleetruns, NamesTheSignalThatEndedARank) {
  Fleetrun run{folder.path(), shell_ranks(3, R"sh(
    if [ $PADDLE_TRAINER_ID = 1 ]; then echo last words >&2; kill -9 $$; fi
    sleep 60)sh")};
  EXPECT_EQ(run.wait(), 128 + 9);
  auto const summary = summary_of(run.printed());
  EXPECT_NE(summary.find("rank 1 failed first: signal 9 (SIGKILL)"), std::string::npos) << run.printed();
  EXPECT_NE(summary.find("Out of memory"), std::string::npos);
  EXPECT_NE(summary.find("    last words\n"), std::string::npos);
  EXPECT_EQ(count(summary, "signal 15 (SIGTERM), after fleetrun told it to end"), 2u) << summary;
  EXPECT_TRUE(run.nothing_left());
}

TEST_F(Fleetruns, KeepsLinesWholeWhenAllRanksPrintAtOnce) {
  Fleetrun run{folder.path(), shell_ranks(4, R"sh(
    line=$(printf '%200s' '' | tr ' ' "$PADDLE_TRAINER_ID")
    yes "$line" | head -n 10000
    printf 'unfinished %s' $PADDLE_TRAINER_ID)sh")};
  ASSERT_EQ(run.wait(), 0) << run.printed().substr(0, 2000);
  std::map<std::string, int> seen;
  for (auto const& line : lines_of(run.printed())) ++seen[line];
  for (std::string const rank : {"0", "1", "2", "3"}) {
    std::string body;
    for (int i = 0; i < 200; ++i) body += rank;
    EXPECT_EQ(seen["[rank " + rank + "] " + body], 10000);
    EXPECT_EQ(seen["[rank " + rank + "] unfinished " + rank], 1);
    auto const logged = lines_of(test::read_file(folder.path("log/workerlog." + rank)));
    EXPECT_EQ(logged.size(), 10001u);
    EXPECT_EQ(std::count(logged.begin(), logged.end(), body), 10000);
    EXPECT_EQ(logged.back(), "unfinished " + rank);
  }
  auto const from_ranks =
      std::count_if(seen.begin(), seen.end(), [](auto const& entry) { return entry.first.starts_with("[rank"); });
  EXPECT_EQ(from_ranks, 8);
}

TEST_F(Fleetruns, ShowsALineAsSoonAsItIsPrinted) {
  Fleetrun run{folder.path(), shell_ranks(2, R"sh(
    for i in 1 2 3 4 5; do
      echo "tick $i of $PADDLE_TRAINER_ID"
      tries=0
      while [ ! -e seen.$i ]; do sleep 0.02; tries=$((tries + 1)); [ $tries -lt 500 ] || exit 3; done
    done)sh")};
  for (int i = 1; i <= 5; ++i) {
    for (std::string const rank : {"0", "1"})
      ASSERT_TRUE(run.await("[rank " + rank + "] tick " + std::to_string(i) + " of " + rank + "\n")) << run.printed();
    folder.write("seen." + std::to_string(i), "");
  }
  EXPECT_EQ(run.wait(), 0);
}

TEST_F(Fleetruns, ReturnsWhatTheRanksReturned) {
  EXPECT_EQ((Fleetrun{folder.path(), shell_ranks(2, "exit 0")}.wait()), 0);
  EXPECT_EQ((Fleetrun{folder.path(), shell_ranks(1, "exit 255")}.wait()), 255);
  EXPECT_EQ((Fleetrun{folder.path(), shell_ranks(1, "kill -SEGV $$")}.wait()), 128 + 11);
}

TEST_F(Fleetruns, HandsArgumentsOverByteForByte) {
  std::vector<std::string> const words{"",   "two words",      "new\nline",         "-dash",        "--gpus=9",
                                       "--", "$(touch pwned)", "`touch pwned`",     "ünïcödé \xff", "'\"\\",
                                       "*",  "a;b&c|d>e",      "--nproc_per_node=7"};
  auto const program = folder.write("show", R"sh(#!/bin/sh
for word in "$@"; do printf '%s\0' "$word"; done > arguments.$PADDLE_TRAINER_ID
printf '%s' "$SOME_TEXT" > variable.$PADDLE_TRAINER_ID
tr '\0' '\n' < /proc/$$/environ | grep -c '^A\.B=dotted$' > dotted.$PADDLE_TRAINER_ID
)sh");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  std::vector<std::string> arguments{workers + "2", "./show"};
  arguments.insert(arguments.end(), words.begin(), words.end());
  Fleetrun run{folder.path(), arguments, {{"SOME_TEXT", "a b'c\"d\ne"}, {"A.B", "dotted"}}};
  ASSERT_EQ(run.wait(), 0) << run.printed();
  std::string expected;
  for (auto const& word : words) expected += word + '\0';
  for (std::string const rank : {"0", "1"}) {
    EXPECT_EQ(test::read_file(folder.path("arguments." + rank)), expected);
    EXPECT_EQ(test::read_file(folder.path("variable." + rank)), "a b'c\"d\ne");
    EXPECT_EQ(test::read_file(folder.path("dotted." + rank)), "1\n");
  }
  EXPECT_FALSE(std::filesystem::exists(folder.path("pwned")));
}

TEST_F(Fleetruns, PrintsInADryRunWhatAShellCanRun) {
  Fleetrun run{folder.path(),
               {workers + "2", "--dry-run", "sh", "-c", "printf '%s|' \"$@\"; echo $PADDLE_TRAINER_ID", "sh", "a b",
                "it's", "new\nline", "$(touch pwned)", ""},
               {{"RANK", "5"}, {"FLEET_JOB_TOKEN", "secret word"}}};
  ASSERT_EQ(run.wait(), 0);
  EXPECT_FALSE(std::filesystem::exists(folder.path("log"))) << "nothing is started or made";
  EXPECT_EQ(run.printed().find("secret word"), std::string::npos);
  EXPECT_NE(run.printed().find("-u RANK"), std::string::npos);
  folder.write("commands", run.printed());
  ASSERT_EQ(std::system(("cd " + folder.path() + " && sh ./commands > pasted").c_str()), 0);
  EXPECT_EQ(test::read_file(folder.path("pasted")),
            "a b|it's|new\nline|$(touch pwned)||0\na b|it's|new\nline|$(touch pwned)||1\n");
  EXPECT_FALSE(std::filesystem::exists(folder.path("pwned")));
}

TEST_F(Fleetruns, RefusesBeforeAnythingStarts) {
  struct Case {
    std::vector<std::string> arguments;
    int status;
    std::string text;
  };
  folder.write("data.py", "print(1)\n");
  std::filesystem::create_directory(folder.path("folder"));
  for (auto const& [arguments, status, text] : std::vector<Case>{
           {{"./missing"}, 127, "there is no program ./missing"},
           {{"no-such-program-anywhere"}, 127, "no program \"no-such-program-anywhere\" in PATH"},
           {{"./data.py"}, 126, "python3 ./data.py"},
           {{"./folder"}, 126, "is a folder"},
           {{}, 2, "no program is named"},
           {{"--nproc=2", "true"}, 2, "no option --nproc=2"},
           {{"--nproc_per_node=two", "true"}, 2, "two"},
           {{"--nproc_per_node=0", "true"}, 2, "--nproc_per_node=0"},
           {{"--http_port=65536", "true"}, 2, "--http_port=65536"},
           {{"--gpus=0,1,2", "--nproc_per_node=2", "true"}, 2, "cannot share out evenly"},
           {{"--gpus=0,x", "true"}, 2, "\"x\" is not the number of a device"},
           {{"--gpus=0,0", "true"}, 2, "twice"},
           {{"--ips=127.0.0.2,127.0.0.3", "--node_ip=127.0.0.2", "true"}, 2, "FLEET_JOB_TOKEN"},
           {{"--log_dir=data.py/log", "true"}, 2, "--log_dir"},
       }) {
    Fleetrun run{folder.path(), arguments};
    EXPECT_EQ(run.wait(), status) << run.printed();
    EXPECT_NE(run.printed().find(text), std::string::npos) << run.printed();
    EXPECT_EQ(count(run.printed(), "Distributed Envs"), 0u);
  }
}

TEST_F(Fleetruns, TellsWhyAFileCannotBeExecuted) {
  std::filesystem::permissions(folder.write("odd", "\x01\x02 neither\n"), std::filesystem::perms::owner_all);
  Fleetrun run{folder.path(), {workers + "2", "./odd"}};
  EXPECT_EQ(run.wait(), 126);
  EXPECT_NE(run.printed().find("./odd"), std::string::npos) << run.printed();
}

TEST_F(Fleetruns, ForwardsSignalsAndLetsRanksEndWell) {
  for (int const number : {SIGINT, SIGTERM, SIGHUP}) {
    Fleetrun run{folder.path(), shell_ranks(2, R"sh(
      trap 'echo saved; exit 0' INT TERM HUP
      echo ready $PADDLE_TRAINER_ID
      while :; do sleep 0.05; done)sh")};
    ASSERT_TRUE(run.await("ready 0") && run.await("ready 1")) << run.printed();
    run.send(number);
    EXPECT_EQ(run.wait(), 128 + number);
    EXPECT_EQ(count(run.printed(), "] saved\n"), 2u) << run.printed();
    EXPECT_EQ(count(run.printed(), "ended normally when told to"), 2u) << run.printed();
    EXPECT_TRUE(run.nothing_left());
  }
}

TEST_F(Fleetruns, PassesUserSignalsOn) {
  Fleetrun run{folder.path(), shell_ranks(2, R"sh(
    trap 'echo noted; exit 0' USR1
    echo ready $PADDLE_TRAINER_ID
    while :; do sleep 0.05; done)sh")};
  ASSERT_TRUE(run.await("ready 0") && run.await("ready 1"));
  run.send(SIGUSR1);
  EXPECT_EQ(run.wait(), 0);
  EXPECT_EQ(count(run.printed(), "] noted\n"), 2u);
}

TEST_F(Fleetruns, KillsAfterTheGraceTime) {
  Fleetrun run{folder.path(), shell_ranks(2, R"sh(
    trap '' INT TERM HUP
    echo ready $PADDLE_TRAINER_ID
    while :; do sleep 0.05; done)sh",
                                          {"--grace=1"})};
  ASSERT_TRUE(run.await("ready 0") && run.await("ready 1"));
  run.send(SIGTERM);
  EXPECT_EQ(run.wait(), 128 + 15);
  EXPECT_EQ(count(run.printed(), "signal 9 (SIGKILL), after fleetrun told it to end"), 2u) << run.printed();
  EXPECT_TRUE(run.nothing_left());
}

TEST_F(Fleetruns, KillsAtOnceWhenAskedTwice) {
  Fleetrun run{folder.path(), shell_ranks(2, R"sh(
    trap '' INT
    echo ready $PADDLE_TRAINER_ID
    while :; do sleep 0.05; done)sh",
                                          {"--grace=3600"})};
  ASSERT_TRUE(run.await("ready 0") && run.await("ready 1"));
  run.send(SIGINT);
  ASSERT_TRUE(run.await("goes to all ranks"));
  run.send(SIGINT);
  EXPECT_EQ(run.wait(), 128 + 2);
  EXPECT_TRUE(run.nothing_left());
}

// Each rank has a child in its own process group, and one that left it.
std::string const with_descendants = R"sh(
    trap '' INT TERM HUP
    sleep 300 & setsid sleep 300 & (setsid sh -c 'sleep 300 & sleep 300' &)
    sleep 0.2
    echo ready $PADDLE_TRAINER_ID
    wait; sleep 300)sh";

TEST_F(Fleetruns, LeavesNothingWhenItIsKilled) {
  Fleetrun run{folder.path(), shell_ranks(3, with_descendants)};
  ASSERT_TRUE(run.await("ready 0") && run.await("ready 1") && run.await("ready 2"));
  EXPECT_GE(run.running().size(), 12u);
  run.send(SIGKILL);
  EXPECT_EQ(run.wait(), 128 + 9);
  EXPECT_TRUE(run.nothing_left()) << run.running().size();
}

TEST_F(Fleetruns, LeavesNothingWhenItsSupervisorIsKilled) {
  Fleetrun run{folder.path(), shell_ranks(2, "echo supervisor is $PPID.; " + with_descendants)};
  ASSERT_TRUE(run.await("ready 0") && run.await("ready 1"));
  auto const at = run.printed().find("supervisor is ") + 14;
  pid_t const supervisor = static_cast<pid_t>(std::stol(run.printed().substr(at)));
  ASSERT_NE(supervisor, run.pid());
  ::kill(supervisor, SIGKILL);
  EXPECT_EQ(run.wait(), 128 + 9);
  EXPECT_NE(run.printed().find("all ranks were killed"), std::string::npos) << run.printed();
  EXPECT_TRUE(run.nothing_left());
}

TEST_F(Fleetruns, LeavesNothingWhenRanksLeaveProcessesBehind) {
  Fleetrun run{folder.path(), shell_ranks(2, "sleep 300 & setsid sleep 300 & sleep 0.2; echo done")};
  EXPECT_EQ(run.wait(), 0);
  EXPECT_TRUE(run.nothing_left());
}

TEST_F(Fleetruns, ShowsWhatARankLeftBehindStillPrints) {
  Fleetrun run{folder.path(), shell_ranks(1, "(sleep 0.3; echo late words) & exit 0")};
  EXPECT_EQ(run.wait(), 0);
  EXPECT_NE(run.printed().find("[rank 0] late words\n"), std::string::npos);
}

TEST_F(Fleetruns, SharesTheCoresOut) {
  auto const threads = [&](int ranks, Fleetrun::Variables const& variables) {
    Fleetrun run{folder.path(), shell_ranks(ranks, "echo threads=$OMP_NUM_THREADS."), variables};
    EXPECT_EQ(run.wait(), 0);
    auto const at = run.printed().find("] threads=") + 10;
    return std::stoi(run.printed().substr(at));
  };
  cpu_set_t set;
  ASSERT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
  int const cores = CPU_COUNT(&set);
  EXPECT_EQ(threads(1, {}), cores);
  EXPECT_EQ(threads(2, {}), std::max(1, cores / 2));
  EXPECT_EQ(threads(cores * 2, {}), 1);
  EXPECT_EQ(threads(2, {{"OMP_NUM_THREADS", "3"}}), 3);
}

TEST_F(Fleetruns, PrintsTheEnvironmentWithoutTheSecret) {
  Fleetrun run{folder.path(),
               shell_ranks(2, "test \"$FLEET_JOB_TOKEN\" = sesame-open && echo has it"),
               {{"FLEET_JOB_TOKEN", "sesame-open"}}};
  EXPECT_EQ(run.wait(), 0);
  EXPECT_EQ(run.printed().find("sesame"), std::string::npos);
  EXPECT_NE(run.printed().find("| FLEET_JOB_TOKEN           | (hidden)"), std::string::npos) << run.printed();
  EXPECT_EQ(count(run.printed(), "] has it\n"), 2u);
}

TEST_F(Fleetruns, AssignsDevices) {
  Fleetrun run{
      folder.path(),
      {"--selected_gpus=2,3", "sh", "-c", "echo $PADDLE_TRAINER_ID: $CUDA_VISIBLE_DEVICES $FLAGS_selected_gpus"}};
  EXPECT_EQ(run.wait(), 0);
  EXPECT_NE(run.printed().find("[rank 0] 0: 2 2\n"), std::string::npos) << run.printed();
  EXPECT_NE(run.printed().find("[rank 1] 1: 3 3\n"), std::string::npos);
  Fleetrun visible{folder.path(),
                   {"--gpus=5,7", "--nproc_per_node=1", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES $FLAGS_selected_gpus"},
                   {{"CUDA_VISIBLE_DEVICES", "7,6,5"}}};
  EXPECT_EQ(visible.wait(), 0);
  EXPECT_NE(visible.printed().find("[rank 0] 5,7 2,0\n"), std::string::npos) << visible.printed();
  Fleetrun hidden{folder.path(), {"--gpus=4", "true"}, {{"CUDA_VISIBLE_DEVICES", "7,6,5"}}};
  EXPECT_EQ(hidden.wait(), 2);
  EXPECT_NE(hidden.printed().find("CUDA_VISIBLE_DEVICES=7,6,5"), std::string::npos);
}

TEST_F(Fleetruns, RemovesTheVariablesOfOtherLaunchers) {
  Fleetrun run{folder.path(),
               shell_ranks(1, "env | grep -c -E '^(RANK|WORLD_SIZE|SLURM_PROCID|OMPI_COMM_WORLD_RANK)=' ; true"),
               {{"RANK", "3"}, {"WORLD_SIZE", "4"}, {"SLURM_PROCID", "1"}, {"OMPI_COMM_WORLD_RANK", "1"}}};
  EXPECT_EQ(run.wait(), 0);
  EXPECT_NE(run.printed().find("[rank 0] 0\n"), std::string::npos) << run.printed();
}

TEST_F(Fleetruns, AddsToTheLogOfAnEarlierRun) {
  EXPECT_EQ((Fleetrun{folder.path(), shell_ranks(1, "echo first", {"--log_dir=a/b"})}.wait()), 0);
  EXPECT_EQ(test::read_file(folder.path("a/b/workerlog.0")), "first\n");
  EXPECT_EQ((Fleetrun{folder.path(), shell_ranks(1, "echo second", {"--log_dir=a/b"})}.wait()), 0);
  auto const lines = lines_of(test::read_file(folder.path("a/b/workerlog.0")));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0], "first");
  EXPECT_EQ(lines[2], "second");
}

TEST_F(Fleetruns, SaysWhenThePortIsTaken) {
  int const holder = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(holder, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(holder, 1), 0);
  socklen_t size = sizeof address;
  ::getsockname(holder, reinterpret_cast<sockaddr*>(&address), &size);
  auto const port = std::to_string(ntohs(address.sin_port));
  Fleetrun run{folder.path(), {"--http_port=" + port, "true"}};
  EXPECT_EQ(run.wait(std::chrono::seconds{3}), 2) << run.printed();
  EXPECT_NE(run.printed().find("127.0.0.1:" + port), std::string::npos) << run.printed();
  ::close(holder);
}

TEST_F(Fleetruns, UsesOneExplicitPortTimeAfterTime) {
  auto const port = std::to_string(20000 + ::getpid() % 10000);
  for (int i = 0; i < 10; ++i) {
    Fleetrun run{folder.path(), {"--http_port=" + port, workers + "2", "sh", "-c", "echo $PADDLE_GLOO_HTTP_ENDPOINT"}};
    ASSERT_EQ(run.wait(), 0) << i << run.printed();
    EXPECT_EQ(count(run.printed(), "] 127.0.0.1:" + port + "\n"), 2u);
  }
}

TEST_F(Fleetruns, NumbersRanksHostByHost) {
  std::string const script =
      "echo $PADDLE_TRAINER_ID/$PADDLE_TRAINERS_NUM at $PADDLE_CURRENT_ENDPOINT store $PADDLE_GLOO_HTTP_ENDPOINT";
  auto const port = std::to_string(30000 + ::getpid() % 2000);
  std::vector<std::string> arguments{
      "--ips=127.0.0.2,127.0.0.3", "--http_port=" + port, workers + "2", "sh", "-c", script};
  Fleetrun first{folder.path(), arguments, {{"FLEET_JOB_TOKEN", "t"}, {"POD_IP", "127.0.0.2"}}};
  Fleetrun second{folder.path(), arguments, {{"FLEET_JOB_TOKEN", "t"}, {"POD_IP", "127.0.0.3"}}};
  EXPECT_EQ(first.wait(), 0) << first.printed();
  EXPECT_EQ(second.wait(), 0) << second.printed();
  EXPECT_NE(first.printed().find("[rank 1] 1/4 at 127.0.0.2:0 store 127.0.0.2:" + port), std::string::npos)
      << first.printed();
  EXPECT_NE(second.printed().find("[rank 2] 2/4 at 127.0.0.3:0 store 127.0.0.2:" + port), std::string::npos)
      << second.printed();
  Fleetrun unsure{folder.path(), arguments, {{"FLEET_JOB_TOKEN", "t"}}};
  EXPECT_EQ(unsure.wait(), 2);
  EXPECT_NE(unsure.printed().find("--node_ip"), std::string::npos);
  Fleetrun stranger{folder.path(), arguments, {{"FLEET_JOB_TOKEN", "t"}, {"POD_IP", "127.0.0.4"}}};
  EXPECT_EQ(stranger.wait(), 2);
  Fleetrun mixed{folder.path(), {"--ips=10.1.2.3,127.0.0.3", "true"}, {{"FLEET_JOB_TOKEN", "t"}}};
  EXPECT_EQ(mixed.wait(), 2);
  EXPECT_NE(mixed.printed().find("loopback"), std::string::npos);
}

TEST_F(Fleetruns, SaysWhichLimitStopsIt) {
  Fleetrun run{folder.path(),
               {"--nproc_per_node=1", "sh", "-c", "ulimit -n 24; exec \"$0\" --nproc_per_node=12 true", FLEETRUN}};
  EXPECT_NE(run.wait(), 0);
  EXPECT_NE(run.printed().find("24"), std::string::npos) << run.printed();
  EXPECT_NE(run.printed().find("ulimit -n"), std::string::npos) << run.printed();
}

TEST_F(Fleetruns, GoesOnWhenNobodyReadsItsOutput) {
  auto const command = "cd " + folder.path() +
                       " && " FLEETRUN
                       " --nproc_per_node=2 sh -c 'for i in 1 2 3; do echo $i; sleep 0.1; done' 2>errors | true";
  ASSERT_EQ(std::system(command.c_str()), 0);
  auto const deadline = fleet::Deadline::after(std::chrono::seconds{20});
  while (lines_of(test::read_file(folder.path("log/workerlog.1"))).size() < 3 && !deadline.passed()) ::usleep(5000);
  EXPECT_EQ(test::read_file(folder.path("log/workerlog.1")), "1\n2\n3\n");
}

TEST_F(Fleetruns, LearnsFromItsHelp) {
  Fleetrun run{folder.path(), {"--help"}};
  EXPECT_EQ(run.wait(), 0);
  for (char const* text : {"--nproc_per_node", "--gpus", "--ips", "--log_dir", "--http_port", "--grace", "--dry-run",
                           "fleetrun --nproc_per_node=2 ./train", "Exit status"})
    EXPECT_NE(run.printed().find(text), std::string::npos) << text;
}

}  // namespace
