#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fleet/strategy/step.hpp>

namespace fleet::detail {

/// Whether one of the patterns occurs in the name of each parameter. A pattern that occurs nowhere is noted.
inline std::vector<std::uint8_t> excluded_names(std::string_view policy, std::vector<std::string> const& patterns,
                                                Setup const& setup) {
  std::vector<std::uint8_t> excluded(setup.parameters.size());
  for (auto const& pattern : patterns) {
    bool found = false;
    for (std::size_t i = 0; i < excluded.size(); ++i)
      if (setup.parameters[i].name.find(pattern) != std::string::npos) excluded[i] = found = true;
    if (!found)
      setup.notes.push_back(text(policy, ".exclude has \"", pattern, "\", which occurs in no parameter's name"));
  }
  return excluded;
}

}  // namespace fleet::detail
