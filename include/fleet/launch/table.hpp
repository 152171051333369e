#pragma once
#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <fleet/launch/plan.hpp>

namespace fleet::launch {

/// The variables of a process as a table of lines. The token is masked; long values show their end.
inline std::vector<std::string> environment_table(ProcessSpec const& process) {
  constexpr std::size_t shown = 45;
  std::vector<std::pair<std::string, std::string>> rows{{"Distributed Envs", "Value"}};
  for (auto [name, value] : process.environment) {
    if (name == token_variable) value = "(hidden)";
    if (value.size() >= shown) value = "... " + value.substr(value.size() - (shown - 4));
    rows.emplace_back(std::move(name), std::move(value));
  }
  std::size_t names = 0, values = 0;
  for (auto const& [name, value] : rows) names = std::max(names, name.size()), values = std::max(values, value.size());
  std::string const rule = "+" + std::string(names + 2, '-') + "+" + std::string(values + 2, '-') + "+";
  std::vector<std::string> lines{rule};
  for (auto const& [name, value] : rows) {
    lines.push_back("| " + name + std::string(names - name.size(), ' ') + " | " + value +
                    std::string(values - value.size(), ' ') + " |");
    if (lines.size() == 2) lines.push_back(rule);
  }
  lines.push_back(rule);
  return lines;
}

}  // namespace fleet::launch
