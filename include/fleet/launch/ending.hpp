#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstring>
#include <string>

#include <fleet/core/text.hpp>
#include <fleet/launch/tail.hpp>

namespace fleet::launch {

/// How a process ended: with a code of its own, or by a signal.
struct Ending {
  std::string label, host, log;
  int rank = 0;
  pid_t pid = -1;
  bool by_signal = false;
  int code = 0;       ///< exit code, or number of the signal
  bool told = false;  ///< the launcher had told it to end, so its ending has no cause of its own
  int order = 0;      ///< among the endings of this host
  std::chrono::system_clock::time_point at{};
  std::chrono::steady_clock::duration after{};  ///< since the start
  Tail output, error;

  bool failed() const { return by_signal || code != 0; }
  /// As a shell reports it.
  int status() const { return by_signal ? 128 + code : code; }
};

/// "signal 9 (SIGKILL)".
inline std::string signal_text(int number) {
  char const* const name = ::sigabbrev_np(number);
  return name ? text("signal ", number, " (SIG", name, ")") : text("signal ", number);
}

inline std::string ending_text(Ending const& ending) {
  return ending.by_signal ? signal_text(ending.code) : text("exit code ", ending.code);
}

}  // namespace fleet::launch
