#pragma once
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace fleet {

enum class LogLevel : std::uint8_t { quiet, warning, info, debug };

/// What is printed at all; the default is `warning`. `init` sets it from FLEET_LOG.
inline std::atomic<LogLevel>& log_level() {
  static std::atomic<LogLevel> level{LogLevel::warning};
  return level;
}

/// Writes one whole line to the error stream, in one call, so that lines of threads and ranks do not mix.
inline void log(LogLevel level, std::string_view message) {
  if (level > log_level().load(std::memory_order_relaxed)) return;
  std::string line = "fleet: ";
  line += message;
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace fleet
