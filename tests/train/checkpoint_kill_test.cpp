#include <fleet/train/checkpoint.hpp>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <csignal>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>

#include <gtest/gtest.h>

#include <fleet/comm/local/local.hpp>
#include <fleet/core/log.hpp>
#include <fleet/core/random.hpp>

#include "support/sets.hpp"

namespace {

using fleet::CheckpointError;
using fleet::comm::Communicator;
using test::entries, test::load_step, test::message_of, test::save_step;
using namespace std::chrono_literals;

constexpr std::size_t elements = 256 * 1024;  // files of 1 and 2 MiB

/// From here on the process cannot exchange two names in one call, as on older file systems.
bool forbid_exchange() {
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[4])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog const program{static_cast<unsigned short>(std::size(rules)), rules};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// Saves step after step from `first` on, on two workers, and writes the number of each into `report` once it is saved.
[[noreturn]] void save_for_ever(std::string const& path, std::int64_t first, int report) {
  fleet::comm::local::run(2, [&](Communicator& workers) {
    for (auto step = first;; ++step) {
      save_step(&workers, path, step, elements);
      if (workers.rank() == 0 && ::write(report, &step, sizeof step) != sizeof step) ::_exit(1);
    }
  });
  ::_exit(1);
}

/// Kills a writer `runs` times at random moments. Each time one whole set must load, of the last step whose save
/// returned or of the one under way.
void kill_writers(std::string const& path, int runs, bool exchange) {
  std::int64_t last = 0;
  int torn = 0;  // kills in the middle of a write
  fleet::comm::local::run(2, [&](Communicator& workers) { save_step(&workers, path, last, elements); });
  fleet::Random random{2024};
  for (int run = 0; run < runs; ++run) {
    int report[2];
    if (::pipe(report) != 0) throw std::runtime_error("no pipe");
    auto const writer = ::fork();
    if (writer == 0) {
      ::close(report[0]);
      if (!exchange && !forbid_exchange()) ::_exit(1);
      save_for_ever(path, last + 1, report[1]);
    }
    ::close(report[1]);
    std::this_thread::sleep_for(std::chrono::microseconds{random.below(300'000)});
    ::kill(writer, SIGKILL);
    int status = 0;
    ::waitpid(writer, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << "the writer ended by itself, status " << status;
    for (std::int64_t step; ::read(report[0], &step, sizeof step) == sizeof step;) last = step;
    ::close(report[0]);
    auto const left = entries(std::filesystem::path{path}.parent_path().string());
    torn += std::any_of(left.begin(), left.end(), [](auto const& name) { return name.starts_with("set.saving-"); });

    std::int64_t loaded[2];
    fleet::comm::local::run(
        2, [&](Communicator& workers) { loaded[workers.rank()] = load_step(&workers, path, elements); });
    EXPECT_EQ(loaded[0], loaded[1]);
    EXPECT_GE(loaded[0], last) << "run " << run;
    EXPECT_LE(loaded[0], last + 1) << "run " << run;
    last = loaded[0];
  }
  EXPECT_GT(last, runs / 5);
  EXPECT_GT(torn, runs / 5);
  save_step(nullptr, path, 1, 1);
  EXPECT_EQ(entries(std::filesystem::path{path}.parent_path().string()),
            (std::vector<std::string>{"set", "set.previous"}))
      << "leftovers of the dead";
}

TEST(CheckpointKill, AWholeSetLoadsAfterAKillAtAnyMoment) {
  test::TemporaryFolder folder;
  kill_writers(folder.path("set"), 50, true);
}

TEST(CheckpointKill, AlsoWhereTwoNamesCannotBeExchanged) {
  test::TemporaryFolder folder;
  fleet::log_level() = fleet::LogLevel::quiet;
  kill_writers(folder.path("set"), 15, false);
}

/// A failed save: the same error on both workers, the set before still there, nothing left behind.
void expect_failure(std::string const& folder, std::string const& because) {
  std::string told[2];
  fleet::comm::local::run(2, [&](Communicator& workers) {
    told[workers.rank()] = message_of<CheckpointError>([&] { save_step(&workers, folder + "/set", 2, elements); });
  });
  EXPECT_NE(told[0].find(because), std::string::npos) << told[0];
  EXPECT_EQ(told[0], told[1]);
  EXPECT_EQ(load_step(nullptr, folder + "/set"), 1);
  EXPECT_EQ(entries(folder), std::vector<std::string>{"set"});
}

TEST(CheckpointLimits, AFileSizeLimitIsAnErrorAndNotTheEnd) {
  test::TemporaryFolder folder;
  save_step(nullptr, folder.path("set"), 1);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit const small{.rlim_cur = 1'000'000, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  expect_failure(folder.path(), "File too large");
  ::setrlimit(RLIMIT_FSIZE, &before);

  sigset_t blocked, pending;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  ::sigpending(&pending);
  EXPECT_EQ(::sigismember(&blocked, SIGXFSZ), 0);
  EXPECT_EQ(::sigismember(&pending, SIGXFSZ), 0);
}

TEST(CheckpointLimits, AFullDiskKeepsTheSetBefore) {
  test::TemporaryFolder folder;
  if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("none", folder.path().c_str(), "tmpfs", 0, "size=3m") != 0)
    GTEST_SKIP() << "skipped: no right to mount a small file system";
  save_step(nullptr, folder.path("set"), 1);
  expect_failure(folder.path(), "No space left on device");
  ::umount(folder.path().c_str());
}

TEST(CheckpointWriters, OfOnePlaceTakeTurns) {
  test::TemporaryFolder folder;
  auto const path = folder.path("set");
  save_step(nullptr, path, 1);
  std::atomic<int> writing = 3;
  std::vector<std::jthread> threads;
  for (int writer = 1; writer <= 3; ++writer)
    threads.emplace_back([&, writer] {
      for (int i = 0; i < 15; ++i) EXPECT_NO_THROW(save_step(nullptr, path, writer * 1000 + i));
      --writing;
    });
  int loads = 0;
  for (; writing > 0; ++loads) EXPECT_GT(load_step(nullptr, path), 0);
  EXPECT_GT(loads, 0);
  threads.clear();
  save_step(nullptr, path, 5);
  EXPECT_EQ(entries(folder.path()), (std::vector<std::string>{"set", "set.previous"}));
}

TEST(CheckpointWriters, GiveUpInTimeAndNameTheOther) {
  test::TemporaryFolder folder;
  auto const path = folder.path("set");
  save_step(nullptr, path, 1);
  auto const busy = path + ".saving-elsewhere-77-1", dead = path + ".saving-elsewhere-78-2";
  std::filesystem::create_directory(busy);
  std::filesystem::create_directory(dead);
  int const other = ::open(busy.c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  auto const save = [&] { save_step(nullptr, path, 2, 10, {.lock_timeout = 100ms}); };
  auto const told = message_of<CheckpointError>(save);
  EXPECT_NE(told.find("another job saves to " + path), std::string::npos) << told;
  EXPECT_NE(told.find("saving-elsewhere-77-1"), std::string::npos) << told;
  EXPECT_EQ(load_step(nullptr, path), 1);
  ::close(other);
  save();
  EXPECT_EQ(entries(folder.path()), (std::vector<std::string>{"set", "set.previous"}));
}

}  // namespace
