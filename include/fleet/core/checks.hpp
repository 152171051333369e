#pragma once
#include <cstdint>

namespace fleet {

/// How much the library checks at run time. A level includes those before it.
enum class CheckLevel : std::uint8_t {
  off,         ///< nothing but what memory safety needs
  light,       ///< arguments of public calls (default)
  full,        ///< internal invariants too
  collective,  ///< before every collective, operation, count, dtype and call number are compared over the ranks
};

}  // namespace fleet
