#pragma once
#include <pthread.h>

#include <csignal>
#include <initializer_list>

namespace fleet::launch {

/// Signals that ask the launcher and its processes to end.
constexpr std::initializer_list<int> stop_signals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
/// Signals that are only passed on.
constexpr std::initializer_list<int> passed_signals = {SIGUSR1, SIGUSR2};

/// All signals that a launcher handles; one that was ignored at the start (as nohup does) stays so.
inline sigset_t handled_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  for (auto const& list : {stop_signals, passed_signals})
    for (int const number : list) {
      struct sigaction action {};
      ::sigaction(number, nullptr, &action);
      if (action.sa_handler != SIG_IGN) sigaddset(&set, number);
    }
  return set;
}

/// Blocks them, so that they are read in their turn, and returns the mask of before.
inline sigset_t block_signals(sigset_t const& set) {
  sigset_t before;
  ::pthread_sigmask(SIG_BLOCK, &set, &before);
  return before;
}

}  // namespace fleet::launch
