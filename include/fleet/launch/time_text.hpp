#pragma once
#include <chrono>
#include <cstdio>
#include <ctime>
#include <string>

namespace fleet::launch {

/// Local date and time: "2024-05-31 17:04:09".
inline std::string clock_time(std::chrono::system_clock::time_point at) {
  std::time_t const seconds = std::chrono::system_clock::to_time_t(at);
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  char formatted[32];
  std::strftime(formatted, sizeof formatted, "%Y-%m-%d %H:%M:%S", &parts);
  return formatted;
}

/// "1.5 s".
inline std::string seconds_text(std::chrono::steady_clock::duration time) {
  char formatted[32];
  std::snprintf(formatted, sizeof formatted, "%.1f s", std::chrono::duration<double>(time).count());
  return formatted;
}

}  // namespace fleet::launch
