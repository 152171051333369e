#pragma once
#include <stdexcept>
#include <string>
#include <string_view>

namespace test {

/// Ends a test from the thread of a rank, where gtest's fatal assertions do not.
inline void require(bool good, std::string_view what) {
  if (!good) throw std::runtime_error(std::string{what});
}

}  // namespace test
