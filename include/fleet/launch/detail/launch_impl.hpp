#pragma once
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include <fleet/core/error.hpp>
#include <fleet/launch/descendants.hpp>
#include <fleet/launch/dry_run.hpp>
#include <fleet/launch/launch.hpp>
#include <fleet/launch/program.hpp>
#include <fleet/launch/signals.hpp>
#include <fleet/launch/supervisor.hpp>
#include <fleet/launch/table.hpp>
#include <fleet/net/store_server.hpp>

namespace fleet::launch {
namespace detail {

inline int report(std::exception const& error, int status) {
  std::fprintf(stderr, "%s\n", error.what());
  return status;
}

/// Runs `work` and turns what it throws into a message and a status.
template <class Work>
int guarded(Work const& work) {
  try {
    return work();
  } catch (ProgramError const& error) {
    return report(error, error.status());
  } catch (ConfigurationError const& error) {
    return report(error, 2);
  } catch (std::exception const& error) {
    return report(error, 1);
  }
}

/// The store of the job where this host holds it; writes its endpoint into the variables of the processes.
inline std::unique_ptr<net::StoreServer> open_store(Plan& plan) {
  if (!plan.holds_store()) return nullptr;
  auto store = std::make_unique<net::StoreServer>(endpoint(plan.hosts.all.front(), plan.store_port), plan.token);
  for (auto& process : plan.processes)
    for (auto& [name, value] : process.environment)
      if (name == store_variable) value = store->endpoint();
  return store;
}

inline int supervise(Plan plan, ChildSetup setup, Patience patience, Descriptor life_line) {
  ::setpgid(0, 0);
  adopt_orphans();
  std::error_code failure;
  std::filesystem::create_directories(plan.log_dir, failure);
  if (failure)
    throw ConfigurationError(text("fleetrun: cannot make the folder ", plan.log_dir, ": ", failure.message(),
                                  "; name another one with --log_dir"));
  auto const store = open_store(plan);
  Supervisor supervisor{std::move(setup), patience, std::move(life_line)};
  for (auto const& line : environment_table(plan.processes.front())) supervisor.say(Stream::output, line);
  supervisor.start(plan.processes);
  return supervisor.run();
}

/// Passes signals on to the supervising process and returns its status; if that one was killed, ends what it left.
inline int watch_over(pid_t supervisor, sigset_t const& handled) {
  while (true) {
    siginfo_t info{};
    int const number = ::sigwaitinfo(&handled, &info);
    int status = 0;
    if (::waitpid(supervisor, &status, WNOHANG) == supervisor) {
      bool const complete = end_descendants(Deadline::after(std::chrono::seconds{10}));
      if (WIFEXITED(status)) return WEXITSTATUS(status);
      std::fprintf(stderr, "fleetrun: its supervising process was ended by %s; %s\n",
                   signal_text(WTERMSIG(status)).c_str(),
                   complete ? "all ranks were killed" : "some processes do not end although they were killed");
      return 128 + WTERMSIG(status);
    }
    if (number > 0 && number != SIGCHLD) ::kill(supervisor, number);
  }
}

/// Streams that the caller had closed lead nowhere, so that no file takes their numbers.
inline void open_standard_streams() {
  int number;
  while ((number = ::open("/dev/null", O_RDWR)) >= 0 && number <= 2) {
  }
  if (number > 2) ::close(number);
}

}  // namespace detail

FLEET_BODY int launch(Settings const& settings, Environment const& environment) {
  return detail::guarded([&] {
    detail::open_standard_streams();
    auto plan = make_plan(settings, environment);
    if (settings.dry_run) {
      auto const commands = dry_run_text(plan);
      std::fwrite(commands.data(), 1, commands.size(), stdout);
      return 0;
    }
    ChildSetup setup;
    setup.program = plan.program;
    setup.command = plan.command;
    setup.inherited = environment.variables();
    for (auto const& name : plan.removed) setup.inherited.erase(name);
    setup.kept_descriptors = open_descriptors();

    // Two processes: one supervises the ranks, and this one watches over it. Whichever is killed, the other one ends
    // everything that was started.
    int life_line[2];
    if (::pipe2(life_line, O_CLOEXEC) != 0) throw Error(text("fleetrun: no pipe: ", std::strerror(errno)));
    Descriptor watched{life_line[0]}, held{life_line[1]};
    auto const handled = handled_signals();
    setup.signal_mask = block_signals(handled);
    adopt_orphans();
    std::fflush(nullptr);
    pid_t const supervisor = ::fork();
    if (supervisor < 0) throw Error(text("fleetrun: no process for supervising: ", std::strerror(errno)));
    if (supervisor > 0) {
      watched.reset();
      return detail::watch_over(supervisor, handled);
    }
    held.reset();
    Patience patience;
    patience.grace = settings.grace;
    int const status = detail::guarded(
        [&] { return detail::supervise(std::move(plan), std::move(setup), patience, std::move(watched)); });
    std::fflush(nullptr);
    ::_exit(status);
  });
}

}  // namespace fleet::launch
