#pragma once
#include <string>
#include <string_view>

namespace fleet {

/// The name of a type as a user would write it, without the namespace fleet: "GradientMerge<4>".
template <class T>
std::string type_name() {
  std::string_view const function =
      __PRETTY_FUNCTION__;  // "... type_name() [with T = fleet::X; ...]", "[T = fleet::X]"
  auto const begin = function.find("T = ") + 4;
  std::string out{function.substr(begin, function.find(';', begin) - begin)};
  if (!out.empty() && out.back() == ']') out.pop_back();
  for (std::string_view const prefix : {"fleet::", "{anonymous}::", "(anonymous namespace)::"})
    for (auto at = out.find(prefix); at != std::string::npos; at = out.find(prefix)) out.erase(at, prefix.size());
  return out;
}

}  // namespace fleet
