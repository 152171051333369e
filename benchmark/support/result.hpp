#pragma once
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

namespace bench {

inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Calls `function` twice to warm up, then for `seconds` and at least five times; the median seconds of a call.
template <class Function>
double median_seconds(Function&& function, double seconds = 1.0) {
  function(), function();
  std::vector<double> times;
  for (auto const end = seconds_now() + seconds; times.size() < 5 || seconds_now() < end;) {
    auto const start = seconds_now();
    function();
    times.push_back(seconds_now() - start);
  }
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

/// One line a case: "res case=... peer=ours value=... unit=... better=low ...".
inline void print_result(std::string const& name, double value, char const* unit, char const* better,
                         std::string const& more = "") {
  std::printf("res case=%s peer=ours value=%.6g unit=%s better=%s %s\n", name.c_str(), value, unit, better,
              more.c_str());
  std::fflush(stdout);
}

}  // namespace bench
