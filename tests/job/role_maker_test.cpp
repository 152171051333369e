#include <gtest/gtest.h>
#include <fleet/job/role_maker.hpp>

#include <string>
#include <utility>
#include <vector>

#include <fleet/job/slurm_role.hpp>

#include "support/files.hpp"

namespace {

using fleet::ConfigurationError;
using fleet::Environment;
using fleet::make_role;
using fleet::Role;
using Variables = Environment::Variables;

Role role_of(Variables variables) { return make_role(Environment{std::move(variables)}); }

Variables with(Variables base, Variables const& changes) {
  for (auto const& [name, value] : changes) base[name] = value;
  return base;
}

/// Every part must be in the error that the variables lead to.
void expect_error(Variables const& variables, std::vector<std::string> const& parts) {
  auto const message = test::message_of<ConfigurationError>([&] { role_of(variables); });
  EXPECT_TRUE(message.starts_with("fleet: ")) << message;
  for (auto const& part : parts) EXPECT_NE(message.find(part), std::string::npos) << part << " in " << message;
}

Variables const fleetrun{{"PADDLE_TRAINER_ID", "1"},
                         {"PADDLE_TRAINERS_NUM", "3"},
                         {"PADDLE_TRAINER_ENDPOINTS", "10.0.0.1:0,10.0.0.1:0,10.0.0.2:0"},
                         {"PADDLE_CURRENT_ENDPOINT", "10.0.0.1:0"},
                         {"TRAINING_ROLE", "TRAINER"},
                         {"PADDLE_GLOO_HTTP_ENDPOINT", "10.0.0.1:6170"},
                         {"SYS_JOB_ID", "night"},
                         {"FLEET_JOB_TOKEN", "secret"}};
Variables const torchrun{{"RANK", "1"},         {"WORLD_SIZE", "2"},     {"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "2"},
                         {"MASTER_ADDR", "n1"}, {"MASTER_PORT", "29500"}};
Variables const open_mpi{{"OMPI_COMM_WORLD_RANK", "1"},
                         {"OMPI_COMM_WORLD_SIZE", "2"},
                         {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                         {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                         {"PMIX_NAMESPACE", "prterun-n1-7@1"}};
Variables const slurm{{"SLURM_PROCID", "3"},        {"SLURM_NTASKS", "4"},
                      {"SLURM_LOCALID", "1"},       {"SLURM_NODEID", "1"},
                      {"SLURM_NNODES", "2"},        {"SLURM_TASKS_PER_NODE", "2(x2)"},
                      {"SLURM_JOB_ID", "4711"},     {"SLURM_JOB_NODELIST", "gpu[07-08]"},
                      {"FLEET_JOB_TOKEN", "secret"}};

TEST(RoleMaker, AloneIsWorker0Of1) {
  auto const role = role_of({{"HOME", "/root"}});
  EXPECT_EQ(role.index, 0);
  EXPECT_EQ(role.worker_num, 1);
  EXPECT_EQ(role.source, "single process");
  EXPECT_TRUE(role.store.empty() && role.meeting_file.empty());
}

TEST(RoleMaker, ReadsFleetrun) {
  auto const role = role_of(with(fleetrun, {{"FLEET_TIMEOUT", "7"}, {"FLEET_INTERFACE", "eth1"}}));
  EXPECT_EQ(role.source, "fleetrun");
  EXPECT_EQ(role.index, 1);
  EXPECT_EQ(role.worker_num, 3);
  EXPECT_EQ(role.local_index, 1);
  EXPECT_EQ(role.local_num, 2);
  EXPECT_EQ(role.worker_endpoints.size(), 3u);
  EXPECT_EQ(role.store, "10.0.0.1:6170");
  EXPECT_TRUE(role.store_is_running);
  EXPECT_EQ(role.token, "secret");
  EXPECT_EQ(role.job_id, "night");
  EXPECT_EQ(role.timeout, std::chrono::seconds{7});
  EXPECT_EQ(role.interface, "eth1");
}

TEST(RoleMaker, FleetrunsVariablesByHandMeetByFile) {
  auto const role = role_of({{"PADDLE_TRAINER_ID", "1"}, {"PADDLE_TRAINERS_NUM", "2"}});
  EXPECT_EQ(role.local_num, 2);
  EXPECT_FALSE(role.meeting_file.empty());
  EXPECT_TRUE(role.store.empty());
}

TEST(RoleMaker, ReadsServers) {
  Variables const servers{{"PADDLE_PSERVERS_IP_PORT_LIST", "10.0.0.1:7000,10.0.0.2:7000"},
                          {"TRAINING_ROLE", "PSERVER"},
                          {"PADDLE_TRAINERS_NUM", "2"},
                          {"POD_IP", "10.0.0.2"},
                          {"PADDLE_PORT", "7000"},
                          {"PADDLE_GLOO_HTTP_ENDPOINT", "10.0.0.1:6170"},
                          {"FLEET_JOB_TOKEN", "secret"}};
  auto const role = role_of(servers);
  EXPECT_TRUE(role.is_server);
  EXPECT_EQ(role.index, 1);
  EXPECT_EQ(role.server_endpoints.size(), 2u);
  expect_error(with(servers, {{"POD_IP", "10.0.0.3"}}),
               {"POD_IP:PADDLE_PORT=10.0.0.3:7000", "PADDLE_PSERVERS_IP_PORT_LIST"});
  expect_error(with(servers, {{"PADDLE_PORT", ""}}), {"PADDLE_PORT is not set"});
  expect_error(with(servers, {{"TRAINING_ROLE", ""}}), {"TRAINING_ROLE"});
}

TEST(RoleMaker, RefusesContradictionsOfFleetrun) {
  expect_error(with(fleetrun, {{"PADDLE_TRAINER_ID", "3"}}),
               {"PADDLE_TRAINER_ID=3", "PADDLE_TRAINERS_NUM=3", "0 to 2"});
  expect_error(with(fleetrun, {{"PADDLE_TRAINERS_NUM", "2"}}),
               {"PADDLE_TRAINER_ENDPOINTS lists 3", "PADDLE_TRAINERS_NUM=2"});
  expect_error(with(fleetrun, {{"PADDLE_CURRENT_ENDPOINT", "10.0.0.9:0"}}),
               {"PADDLE_CURRENT_ENDPOINT=10.0.0.9:0", "10.0.0.1:0"});
  expect_error(with(fleetrun, {{"PADDLE_TRAINER_ID", "one"}}), {"PADDLE_TRAINER_ID=\"one\"", "whole number"});
  expect_error(with(fleetrun, {{"PADDLE_TRAINER_ID", "-1"}}), {"PADDLE_TRAINER_ID=\"-1\""});
  expect_error(with(fleetrun, {{"PADDLE_TRAINER_ID", ""}}), {"PADDLE_TRAINER_ID is not set"});
  expect_error(with(fleetrun, {{"TRAINING_ROLE", "CHIEF"}}), {"TRAINING_ROLE=CHIEF"});
  expect_error(with(fleetrun, {{"FLEET_LOCAL_SIZE", "4"}}), {"FLEET_LOCAL_SIZE=4", "PADDLE_TRAINERS_NUM=3"});
  expect_error(with(fleetrun, {{"FLEET_JOB_TOKEN", ""}}), {"FLEET_JOB_TOKEN is not set"});
  expect_error(with(fleetrun, {{"FLEET_TIMEOUT", "0"}}), {"FLEET_TIMEOUT=\"0\""});
  expect_error({{"PADDLE_TRAINER_ID", "0"}}, {"PADDLE_TRAINERS_NUM"});
  expect_error({{"PADDLE_TRAINER_ID", "0"}, {"PADDLE_TRAINER_ENDPOINTS", "a:1,b:1"}},
               {"FLEET_STORE_ENDPOINT", "FLEET_JOB_TOKEN"});
}

TEST(RoleMaker, ReadsTorchrun) {
  auto const here = role_of(torchrun);
  EXPECT_EQ(here.source, "torchrun");
  EXPECT_EQ(here.index, 1);
  EXPECT_EQ(here.worker_num, 2);
  EXPECT_EQ(here.local_index, 1);
  EXPECT_EQ(here.local_num, 2);
  EXPECT_FALSE(here.meeting_file.empty());
  auto const next = role_of(with(torchrun, {{"TORCHELASTIC_RESTART_COUNT", "1"}}));
  EXPECT_NE(next.meeting_file, here.meeting_file) << "a restart meets anew";
}

TEST(RoleMaker, TorchrunOnSeveralHostsMeetsAtTheMaster) {
  auto const hosts = with(torchrun, {{"LOCAL_WORLD_SIZE", "1"}, {"LOCAL_RANK", "0"}, {"FLEET_JOB_TOKEN", "secret"}});
  EXPECT_EQ(role_of(hosts).store, "n1:29500");
  EXPECT_FALSE(role_of(hosts).store_is_running);
  EXPECT_EQ(role_of(with(hosts, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}})).store, "n1:29501");
  EXPECT_EQ(role_of(with(hosts, {{"FLEET_STORE_ENDPOINT", "n1:80"}})).store, "n1:80");
  expect_error(with(hosts, {{"FLEET_JOB_TOKEN", ""}}), {"FLEET_JOB_TOKEN", "several hosts"});
  expect_error(with(hosts, {{"MASTER_ADDR", ""}}), {"MASTER_ADDR is not set"});
  expect_error(with(hosts, {{"MASTER_PORT", "70000"}}), {"MASTER_PORT"});
}

TEST(RoleMaker, RefusesContradictionsOfTorchrun) {
  expect_error(with(torchrun, {{"RANK", "2"}}), {"RANK=2", "WORLD_SIZE=2"});
  expect_error(with(torchrun, {{"LOCAL_RANK", "5"}}), {"LOCAL_RANK=5", "LOCAL_WORLD_SIZE=2"});
  expect_error(with(torchrun, {{"WORLD_SIZE", "0"}}), {"WORLD_SIZE=0"});
}

TEST(RoleMaker, ReadsOpenMpi) {
  auto const role = role_of(open_mpi);
  EXPECT_EQ(role.source, "Open MPI");
  EXPECT_EQ(role.index, 1);
  EXPECT_EQ(role.worker_num, 2);
  EXPECT_EQ(role.local_index, 1);
  EXPECT_FALSE(role.meeting_file.empty());
  EXPECT_NE(role_of(with(open_mpi, {{"PMIX_NAMESPACE", "prterun-n1-8@1"}})).meeting_file, role.meeting_file);
  auto const hosts = with(open_mpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}});
  expect_error(hosts, {"FLEET_STORE_ENDPOINT", "FLEET_JOB_TOKEN"});
  auto const named = role_of(with(hosts, {{"FLEET_STORE_ENDPOINT", "n1:7000"}, {"FLEET_JOB_TOKEN", "secret"}}));
  EXPECT_EQ(named.store, "n1:7000");
  EXPECT_FALSE(named.store_is_running);
  expect_error(with(open_mpi, {{"OMPI_COMM_WORLD_RANK", "2"}}), {"OMPI_COMM_WORLD_RANK=2", "OMPI_COMM_WORLD_SIZE=2"});
  expect_error(with(open_mpi, {{"OMPI_COMM_WORLD_SIZE", ""}}), {"OMPI_COMM_WORLD_SIZE is not set"});
}

TEST(RoleMaker, ReadsSlurm) {
  auto const role = role_of(slurm);
  EXPECT_EQ(role.source, "Slurm");
  EXPECT_EQ(role.index, 3);
  EXPECT_EQ(role.worker_num, 4);
  EXPECT_EQ(role.local_index, 1);
  EXPECT_EQ(role.local_num, 2);
  EXPECT_TRUE(role.store.starts_with("gpu07:")) << role.store;
  EXPECT_EQ(role.store, role_of(with(slurm, {{"SLURM_PROCID", "0"}, {"SLURM_LOCALID", "0"}})).store);
  EXPECT_NE(role.store, role_of(with(slurm, {{"SLURM_JOB_ID", "4712"}})).store);
  EXPECT_FALSE(role_of(with(slurm, {{"SLURM_NNODES", "1"}})).meeting_file.empty());
  expect_error(with(slurm, {{"FLEET_JOB_TOKEN", ""}}), {"FLEET_JOB_TOKEN"});
  expect_error(with(slurm, {{"SLURM_PROCID", "4"}}), {"SLURM_PROCID=4", "SLURM_NTASKS=4"});
}

TEST(RoleMaker, FindsTheFirstHostOfAList) {
  using fleet::detail::first_host;
  EXPECT_EQ(first_host("n1"), "n1");
  EXPECT_EQ(first_host("n1,n2"), "n1");
  EXPECT_EQ(first_host("gpu[007-012,20],big"), "gpu007");
  EXPECT_EQ(first_host("gpu[3,5]"), "gpu3");
  EXPECT_EQ(first_host("rack[1-2]-x,b"), "rack1-x");
  EXPECT_EQ(first_host(""), "");
}

TEST(RoleMaker, CountsTasksOnANode) {
  using fleet::detail::tasks_on_node;
  EXPECT_EQ(tasks_on_node("2(x3),1", 0), 2);
  EXPECT_EQ(tasks_on_node("2(x3),1", 2), 2);
  EXPECT_EQ(tasks_on_node("2(x3),1", 3), 1);
  EXPECT_EQ(tasks_on_node("2(x3),1", 4), std::nullopt);
  EXPECT_EQ(tasks_on_node("", 0), std::nullopt);
}

TEST(RoleMaker, RefusesTwoStories) {
  auto const both = [](Variables base, Variables const& other) { return with(std::move(base), other); };
  expect_error(both(fleetrun, torchrun),
               {"PADDLE_TRAINER_ID=1 of PADDLE_TRAINERS_NUM=3", "RANK=1 of WORLD_SIZE=2", "unset"});
  expect_error(both(torchrun, with(open_mpi, {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}})),
               {"RANK=1", "OMPI_COMM_WORLD_RANK=0"});
  expect_error(both(fleetrun, slurm), {"PADDLE_TRAINER_ID=1", "SLURM_PROCID=3"});
  EXPECT_EQ(role_of(both(torchrun, open_mpi)).source, "torchrun") << "two that agree are one";
  EXPECT_EQ(role_of(both(torchrun, slurm)).source, "torchrun") << "torchrun runs inside Slurm jobs";
  EXPECT_EQ(role_of(both(open_mpi, slurm)).source, "Open MPI") << "so does mpirun";
}

TEST(Environment, AnEmptyValueCountsAsNotSet) {
  Environment const environment{{{"A", ""}, {"B", "x"}}};
  EXPECT_FALSE(environment.has("A"));
  EXPECT_EQ(environment.get("B"), "x");
  EXPECT_EQ(environment.get("C"), std::nullopt);
}

}  // namespace
