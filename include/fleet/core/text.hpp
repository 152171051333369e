#pragma once
#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

namespace fleet {
namespace detail {

inline void append(std::string& out, std::string_view piece) { out += piece; }
inline void append(std::string& out, char const* piece) { out += piece; }
inline void append(std::string& out, char piece) { out += piece; }
inline void append(std::string& out, bool piece) { out += piece ? "true" : "false"; }

template <class Number>
requires((std::integral<Number> || std::floating_point<Number>)&&!std::same_as<Number, char> &&
         !std::same_as<Number, bool>) void append(std::string& out, Number piece) {
  char digits[64];
  auto const end = std::to_chars(digits, digits + sizeof digits, piece).ptr;
  out.append(digits, end);
}

}  // namespace detail

/// Joins strings and numbers into one string; numbers in their shortest exact form.
template <class... Pieces>
std::string text(Pieces const&... pieces) {
  std::string out;
  (detail::append(out, pieces), ...);
  return out;
}

}  // namespace fleet
