#include <gtest/gtest.h>
#include <fleet/launch/plan.hpp>

#include <array>
#include <string>
#include <vector>

#include <fleet/launch/dry_run.hpp>
#include <fleet/launch/line_splitter.hpp>
#include <fleet/launch/quote.hpp>
#include <fleet/launch/table.hpp>

#include "support/files.hpp"

namespace {

using fleet::ConfigurationError;
using fleet::Environment;
using fleet::launch::find_hosts;
using fleet::launch::make_plan;
using fleet::launch::Settings;
using fleet::launch::shell_quoted;

std::string value(fleet::launch::ProcessSpec const& process, std::string const& name) {
  for (auto const& [key, text] : process.environment)
    if (key == name) return text;
  return "(not set)";
}

Settings two_workers() {
  Settings settings;
  settings.nproc_per_node = 2;
  settings.command = {"/bin/true"};
  return settings;
}

TEST(Plan, GivesEachRankItsVariables) {
  auto const plan = make_plan(two_workers(), Environment{});
  ASSERT_EQ(plan.processes.size(), 2u);
  EXPECT_TRUE(plan.holds_store());
  auto const& second = plan.processes[1];
  EXPECT_EQ(second.label, "rank 1");
  EXPECT_EQ(second.log, "log/workerlog.1");
  EXPECT_EQ(value(second, "PADDLE_TRAINER_ID"), "1");
  EXPECT_EQ(value(second, "PADDLE_TRAINERS_NUM"), "2");
  EXPECT_EQ(value(second, "PADDLE_TRAINER_ENDPOINTS"), "127.0.0.1:0,127.0.0.1:0");
  EXPECT_EQ(value(second, "PADDLE_CURRENT_ENDPOINT"), "127.0.0.1:0");
  EXPECT_EQ(value(second, "TRAINING_ROLE"), "TRAINER");
  EXPECT_EQ(value(second, "FLEET_LOCAL_RANK"), "1");
  EXPECT_EQ(value(second, "FLEET_LOCAL_SIZE"), "2");
  EXPECT_EQ(value(second, "FLEET_TIMEOUT"), "(not set)");
  EXPECT_GE(value(second, "FLEET_JOB_TOKEN").size(), 32u);
  EXPECT_NE(plan.token, make_plan(two_workers(), Environment{}).token) << "each job has a secret of its own";
}

TEST(Plan, TakesWhatTheUserSet) {
  auto settings = two_workers();
  settings.timeout_seconds = 7;
  auto const plan = make_plan(settings, Environment{{{"FLAGS_START_PORT", "7000"},
                                                     {"SYS_JOB_ID", "night"},
                                                     {"FLEET_JOB_TOKEN", "secret"},
                                                     {"OMP_NUM_THREADS", "5"},
                                                     {"SLURM_PROCID", "0"}}});
  EXPECT_EQ(value(plan.processes[0], "PADDLE_TRAINER_ENDPOINTS"), "127.0.0.1:7000,127.0.0.1:7001");
  EXPECT_EQ(value(plan.processes[1], "PADDLE_CURRENT_ENDPOINT"), "127.0.0.1:7001");
  EXPECT_EQ(value(plan.processes[0], "SYS_JOB_ID"), "night");
  EXPECT_EQ(value(plan.processes[0], "FLEET_JOB_TOKEN"), "secret");
  EXPECT_EQ(value(plan.processes[0], "OMP_NUM_THREADS"), "5");
  EXPECT_EQ(value(plan.processes[0], "FLEET_TIMEOUT"), "7");
  EXPECT_EQ(plan.removed, std::vector<std::string>{"SLURM_PROCID"});
}

TEST(Plan, NumbersRanksHostByHost) {
  auto settings = two_workers();
  settings.ips = "127.0.0.2, 127.0.0.3";
  Environment const environment{{{"FLEET_JOB_TOKEN", "secret"}, {"POD_IP", "127.0.0.3"}}};
  auto const plan = make_plan(settings, environment);
  EXPECT_FALSE(plan.holds_store());
  ASSERT_EQ(plan.processes.size(), 2u);
  EXPECT_EQ(plan.processes[0].rank, 2);
  EXPECT_EQ(value(plan.processes[0], "PADDLE_TRAINERS_NUM"), "4");
  EXPECT_EQ(value(plan.processes[0], "PADDLE_GLOO_HTTP_ENDPOINT"), "127.0.0.2:6170");
  settings.node_ip = "127.0.0.2";
  EXPECT_TRUE(make_plan(settings, environment).holds_store()) << "the option wins over POD_IP";
}

TEST(Plan, HostsMayHaveIpv6Addresses) {
  EXPECT_EQ(find_hosts("[::1]", "").all, std::vector<std::string>{"::1"});
  EXPECT_EQ(fleet::launch::endpoint("::1", 80), "[::1]:80");
}

TEST(Plan, RefusesHostsThatCannotWork) {
  for (auto const& [ips, own, text] : std::vector<std::array<std::string, 3>>{
           {"127.0.0.2,,127.0.0.3", "", "empty entry"},
           {"127.0.0.2,127.0.0.2", "", "twice"},
           {"127.0.0.2,127.0.0.3", "", "--node_ip"},
           {"127.0.0.2,127.0.0.3", "127.0.0.9", "127.0.0.9"},
           {"203.0.113.5,127.0.0.1", "", "loopback"},
           {"203.0.113.5,203.0.113.6", "", "no entry"},
           {"no-such-host.invalid,127.0.0.1", "", "no-such-host.invalid"},
       })
    EXPECT_NE(test::message_of<ConfigurationError>([&] { find_hosts(ips, own); }).find(text), std::string::npos) << ips;
}

TEST(Plan, TableMasksTheTokenAndShortensLongValues) {
  fleet::launch::ProcessSpec process;
  process.environment = {
      {"FLEET_JOB_TOKEN", "hush"}, {"LONG", std::string(50, 'a') + "end"}, {"SHORT", std::string(44, 'b')}};
  std::string table;
  std::size_t width = 0;
  for (auto const& line : environment_table(process)) {
    if (width == 0) width = line.size();
    EXPECT_EQ(line.size(), width);
    table += line + "\n";
  }
  EXPECT_EQ(table.find("hush"), std::string::npos);
  EXPECT_NE(table.find("| ... " + std::string(38, 'a') + "end |"), std::string::npos) << table;
  EXPECT_NE(table.find("| " + std::string(44, 'b')), std::string::npos);
}

TEST(Plan, QuotesForAShell) {
  EXPECT_EQ(shell_quoted("plain/word-1.2=3"), "plain/word-1.2=3");
  EXPECT_EQ(shell_quoted(""), "''");
  EXPECT_EQ(shell_quoted("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quoted("a b\n$c"), "'a b\n$c'");
}

TEST(Plan, SplitsStreamsIntoWholeLines) {
  fleet::launch::LineSplitter lines;
  std::vector<std::string> seen;
  auto const keep = [&](std::string_view line) { seen.emplace_back(line); };
  for (char const* piece : {"a", "b\n", "\nc\nd", "", "e\nf"}) lines.feed(piece, keep);
  EXPECT_EQ(seen, (std::vector<std::string>{"ab", "", "c", "de"}));
  lines.finish(keep);
  lines.finish(keep);
  EXPECT_EQ(seen.back(), "f");
  EXPECT_EQ(seen.size(), 5u);
  lines.feed(std::string(fleet::launch::LineSplitter::longest, 'x'), keep);
  EXPECT_EQ(seen.back().size(), fleet::launch::LineSplitter::longest) << "endless lines are passed on in parts";
}

}  // namespace
