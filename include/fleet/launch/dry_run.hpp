#pragma once
#include <string>

#include <fleet/launch/plan.hpp>
#include <fleet/launch/quote.hpp>

namespace fleet::launch {

/// What would be started, one command a rank, as words that a shell can be given. The secret is not shown: on several
/// hosts the commands refer to the variable that holds it; on one host it is left out with the store's address, for
/// the ranks of one host find each other without.
inline std::string dry_run_text(Plan const& plan) {
  std::string all;
  for (auto const& process : plan.processes) {
    all += "# " + process.label + " on " + process.host + ", log " + process.log + "\nenv";
    for (auto const& name : plan.removed) all += " -u " + shell_quoted(name);
    for (auto const& [name, value] : process.environment) {
      bool const is_token = name == token_variable;
      if ((is_token || name == store_variable) && !plan.hosts.several()) continue;
      all += ' ' + (is_token ? name + "=\"$" + name + '"' : shell_assignment(name, value));
    }
    for (auto const& word : plan.command) all += ' ' + shell_quoted(word);
    all += '\n';
  }
  return all;
}

}  // namespace fleet::launch
