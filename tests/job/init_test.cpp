#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <fleet/job/init.hpp>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <fleet/job/meeting.hpp>
#include <fleet/job/role_maker.hpp>
#include <fleet/net/store_server.hpp>

#include "support/files.hpp"

namespace {

using fleet::Role;

/// Forks a process for each role; `body(role)` returns its exit code. Returns the codes.
template <class Body>
std::vector<int> fork_ranks(std::vector<Role> const& roles, Body const& body) {
  std::vector<pid_t> processes;
  for (auto const& role : roles) {
    pid_t const process = ::fork();
    if (process == 0) {
      ::alarm(30);
      int code = 99;
      try {
        code = body(role);
      } catch (std::exception const& error) {
        std::fprintf(stderr, "%s\n", error.what());
      }
      std::fflush(nullptr);
      ::_exit(code);
    }
    processes.push_back(process);
  }
  std::vector<int> codes;
  for (pid_t const process : processes) {
    int status = 0;
    ::waitpid(process, &status, 0);
    codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
  }
  return codes;
}

std::vector<Role> roles(int number, Role const& base) {
  std::vector<Role> all;
  for (int i = 0; i < number; ++i) {
    all.push_back(base);
    all.back().index = all.back().local_index = i;
    all.back().worker_num = all.back().local_num = number;
    all.back().source = "user";
    all.back().timeout = std::chrono::seconds{20};
  }
  return all;
}

int sums_of_ranks(Role const& role) {
  auto const job = fleet::init(role);
  int const n = role.worker_num;
  bool right = job.all_reduce(job.worker_index() + 1) == n * (n + 1) / 2 && job.worker_num() == n;
  auto const all = job.all_gather(job.worker_index() * 10);
  for (int i = 0; i < n; ++i) right = right && all[static_cast<std::size_t>(i)] == i * 10;
  job.barrier();
  return right ? 0 : 1;
}

struct Init : testing::Test {
  test::TemporaryFolder folder;

  Role by_file() const {
    Role role;
    role.meeting_file = folder.path("private/meeting");
    return role;
  }
};

TEST_F(Init, ASingleProcessNeedsNobody) {
  auto const job = fleet::init(Role{});
  EXPECT_EQ(job.worker_index(), 0);
  EXPECT_EQ(job.worker_num(), 1);
  EXPECT_TRUE(job.is_first_worker());
  EXPECT_EQ(job.source(), "single process");
  std::vector<float> data{1, 2};
  job.communicator().all_reduce(std::span{data});
  EXPECT_EQ(data, (std::vector<float>{1, 2}));
  job.barrier();
}

TEST_F(Init, RanksOfOneHostMeetByFile) {
  EXPECT_EQ(fork_ranks(roles(3, by_file()), sums_of_ranks), (std::vector<int>{0, 0, 0}));
  EXPECT_FALSE(std::filesystem::exists(folder.path("private/meeting"))) << "removed once all have met";
}

TEST_F(Init, ALaunchersStoreServes) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  Role base;
  base.token = "secret";
  base.store_is_running = true;
  std::vector<Role> all = roles(2, base);
  // The store lives in a process of its own, as a launcher's does: forks of a process with threads are for exec only.
  pid_t const holder = ::fork();
  if (holder == 0) {
    fleet::net::StoreServer const store{"127.0.0.1:0", fleet::net::Token{"secret"}};
    [[maybe_unused]] auto const written = ::write(ends[1], store.endpoint().data(), store.endpoint().size());
    ::pause();
  }
  char endpoint[64];
  auto const length = ::read(ends[0], endpoint, sizeof endpoint);
  ASSERT_GT(length, 0);
  for (auto& role : all) role.store.assign(endpoint, static_cast<std::size_t>(length));
  EXPECT_EQ(fork_ranks(all, sums_of_ranks), (std::vector<int>{0, 0}));
  ::kill(holder, SIGKILL);
  ::waitpid(holder, nullptr, 0);
}

Role role_from_my_cluster(int task, int tasks) {
  Role role;
  role.index = task;
  role.worker_num = tasks;
  role.store = std::getenv("MY_CLUSTER_HEAD");    // "host:port", an address of the first worker's host
  role.token = std::getenv("MY_CLUSTER_SECRET");  // the same on all workers, known to nobody else
  role.source = "my cluster";
  return role;
}

TEST_F(Init, TakesARoleOfTheUsersOwn) {
  auto const head = "127.0.0.1:" + std::to_string(28000 + ::getpid() % 2000);
  ::setenv("MY_CLUSTER_HEAD", head.c_str(), 1);
  ::setenv("MY_CLUSTER_SECRET", "secret", 1);
  EXPECT_EQ(fork_ranks({role_from_my_cluster(0, 2), role_from_my_cluster(1, 2)}, sums_of_ranks),
            (std::vector<int>{0, 0}));
}

TEST_F(Init, ReadsTheEnvironmentOfEveryLauncher) {
  std::vector<fleet::Environment::Variables> const launchers{
      {{"PADDLE_TRAINER_ID", "#"}, {"PADDLE_TRAINERS_NUM", "2"}, {"SYS_JOB_ID", "t"}},
      {{"RANK", "#"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "localhost"}, {"MASTER_PORT", "1"}},
      {{"OMPI_COMM_WORLD_RANK", "#"}, {"OMPI_COMM_WORLD_SIZE", "2"}},
      {{"SLURM_PROCID", "#"}, {"SLURM_NTASKS", "2"}, {"SLURM_NNODES", "1"}, {"SLURM_JOB_ID", "1"}}};
  for (auto const& variables : launchers) {
    auto const codes = fork_ranks(roles(2, Role{}), [&](Role const& rank) {
      ::clearenv();
      ::setenv("TMPDIR", folder.path().c_str(), 1);
      ::setenv("FLEET_TIMEOUT", "20", 1);
      for (auto const& [name, value] : variables)
        ::setenv(name.c_str(), value == "#" ? std::to_string(rank.index).c_str() : value.c_str(), 1);
      auto const job = fleet::init();
      return job.worker_index() == rank.index && job.all_reduce(1) == 2 ? 0 : 1;
    });
    EXPECT_EQ(codes, (std::vector<int>{0, 0})) << variables.begin()->first;
  }
}

int names_the_contradiction(Role const& role) {
  try {
    auto const job = fleet::init(role);
  } catch (fleet::ConfigurationError const& error) {
    std::string const what = error.what();
    return what.find("rank") != std::string::npos || what.find("size") != std::string::npos ? 7 : 8;
  }
  return 0;
}

TEST_F(Init, TwoRanksWithOneIndexAreToldSo) {
  auto all = roles(3, by_file());
  all[2].index = all[2].local_index = 1;
  EXPECT_EQ(fork_ranks(all, names_the_contradiction), (std::vector<int>{7, 7, 7}));
  auto first_twice = roles(2, by_file());
  first_twice[1].index = first_twice[1].local_index = 0;
  EXPECT_EQ(fork_ranks(first_twice, names_the_contradiction), (std::vector<int>{7, 7}));
}

TEST_F(Init, WorldSizesThatDifferAreToldToAll) {
  auto all = roles(3, by_file());
  all[1].worker_num = all[1].local_num = 2;
  EXPECT_EQ(fork_ranks(all, names_the_contradiction), (std::vector<int>{7, 7, 7}));
}

TEST_F(Init, AWorkerThatDoesNotComeIsNamed) {
  auto all = roles(3, by_file());
  all.pop_back();
  for (auto& role : all) role.timeout = std::chrono::seconds{1};
  auto const codes = fork_ranks(all, [](Role const& role) {
    try {
      auto const job = fleet::init(role);
    } catch (fleet::TransportError const& error) {
      return error.peer() == 2 && std::string{error.what()}.find("did not come") != std::string::npos ? 7 : 8;
    }
    return 0;
  });
  EXPECT_EQ(codes, (std::vector<int>{7, 7}));
}

TEST_F(Init, WithoutTheFirstWorkerTheOthersSayWhoIsMissing) {
  auto role = roles(2, by_file())[1];
  role.timeout = std::chrono::milliseconds{200};
  auto const message = test::message_of<fleet::TransportError>([&] { fleet::init(role); });
  EXPECT_NE(message.find("rank 0"), std::string::npos) << message;
  EXPECT_NE(message.find("worker 1 of 2"), std::string::npos) << message;
}

TEST_F(Init, AFileOfADeadProcessIsPassedOver) {
  auto const base = by_file();
  auto const codes = fork_ranks({base}, [](Role const& role) {
    fleet::publish_meeting(role.meeting_file, {"127.0.0.1:9", "old"});
    return 0;
  });
  ASSERT_EQ(codes, std::vector<int>{0});
  ASSERT_TRUE(std::filesystem::exists(base.meeting_file));
  EXPECT_EQ(fork_ranks(roles(2, base), sums_of_ranks), (std::vector<int>{0, 0}));
}

TEST_F(Init, TheMeetingFileIsForOneUserAlone) {
  auto const path = by_file().meeting_file;
  fleet::publish_meeting(path, {"127.0.0.1:9", "secret"});
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  ASSERT_EQ(::stat(folder.path("private").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  ASSERT_EQ(::chmod(folder.path("private").c_str(), 0755), 0);
  auto const message = test::message_of<fleet::ConfigurationError>([&] { fleet::publish_meeting(path, {"a:1", "b"}); });
  EXPECT_NE(message.find(path), std::string::npos) << message;
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  EXPECT_THROW(fleet::await_meeting(path, fleet::Deadline::after(std::chrono::seconds{1})), fleet::ConfigurationError);
}

TEST_F(Init, RefusesARoleThatContradictsItself) {
  Role role;
  role.index = 3;
  role.worker_num = 2;
  EXPECT_NE(test::message_of<fleet::ConfigurationError>([&] { fleet::init(role); }).find("Role::index=3"),
            std::string::npos);
  role.index = 1;
  EXPECT_NE(test::message_of<fleet::ConfigurationError>([&] { fleet::init(role); }).find("neither a store"),
            std::string::npos);
}

TEST_F(Init, PicksSharedMemoryOnOneHostUnlessTheRoleNamesAnEngine) {
  auto const engine_is = [&](std::string engine, std::string interface, std::string expected) {
    auto all = roles(2, by_file());
    for (auto& role : all) {
      role.engine = engine;
      role.interface = interface;
    }
    return fork_ranks(all, [&](Role const& role) {
      auto const job = fleet::init(role);
      return job.communicator().engine() == expected && job.all_reduce(1) == 2 ? 0 : 1;
    });
  };
  std::vector<int> const right{0, 0};
  EXPECT_EQ(engine_is("", "", "shm"), right);
  EXPECT_EQ(engine_is("shm", "", "shm"), right);
  EXPECT_EQ(engine_is("tcp", "", "tcp"), right);
  EXPECT_EQ(engine_is("", "lo", "tcp"), right) << "an interface by name";
  EXPECT_EQ(engine_is("", "127.0.0.1", "tcp"), right) << "an interface by address";
}

TEST_F(Init, RefusesAnUnknownEngineOrInterfaceNamingWhatThereIs) {
  auto const refusal_has = [&](std::string engine, std::string interface, std::string expected) {
    auto all = roles(2, by_file());
    for (auto& role : all) {
      role.engine = engine;
      role.interface = interface;
      role.timeout = std::chrono::seconds{5};
    }
    return fork_ranks(all, [&](Role const& role) {
      auto const message = test::message_of<fleet::ConfigurationError>([&] { fleet::init(role); });
      return message.find(expected) != std::string::npos ? 7 : 8;
    });
  };
  std::vector<int> const refused{7, 7};
  EXPECT_EQ(refusal_has("carrier pigeon", "", "give shm or tcp"), refused);
  EXPECT_EQ(refusal_has("", "nosuch0", "lo"), refused);
}

TEST_F(Init, SharesFilesOut) {
  Role role;
  role.worker_num = role.local_num = 3;
  std::vector<std::vector<int>> shares;
  for (int i = 0; i < 3; ++i) {
    role.index = i;
    shares.push_back(fleet::Job{role, nullptr}.file_shard(std::vector{1, 2}));
  }
  EXPECT_EQ(shares, (std::vector<std::vector<int>>{{1}, {2}, {}}));
  role.worker_num = 2;
  role.index = 0;
  EXPECT_EQ((fleet::Job{role, nullptr}.file_shard(std::vector{1, 2, 3, 4, 5})), (std::vector{1, 2, 3}));
}

}  // namespace
