#pragma once
#include <string>
#include <string_view>

namespace fleet::launch {

/// The text as one word of a POSIX shell's command line, so that it can be pasted: plain words stay as they are.
inline std::string shell_quoted(std::string_view word) {
  constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
  if (!word.empty() && word.find_first_not_of(plain) == std::string_view::npos) return std::string{word};
  std::string quoted = "'";
  for (char const letter : word) {
    if (letter == '\'')
      quoted += "'\\''";
    else
      quoted += letter;
  }
  return quoted += '\'';
}

/// `name=value` as a shell reads it before a command.
inline std::string shell_assignment(std::string_view name, std::string_view value) {
  std::string assignment{name};
  assignment += '=';
  if (!value.empty()) assignment += shell_quoted(value);
  return assignment;
}

}  // namespace fleet::launch
