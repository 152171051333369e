#pragma once
#include <unistd.h>

#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fleet/core/error.hpp>

namespace fleet {

/// Environment variables as a value: those of this process, or a map that a test or a launcher fills.
class Environment {
 public:
  using Variables = std::map<std::string, std::string, std::less<>>;

  Environment() = default;
  explicit Environment(Variables variables) : variables_(std::move(variables)) {}

  /// The variables of this process, as they are now.
  static Environment of_process() {
    Variables variables;
    for (char** entry = environ; entry && *entry; ++entry) {
      std::string_view const pair = *entry;
      if (auto const equals = pair.find('='); equals != 0 && equals != std::string_view::npos)
        variables.emplace(pair.substr(0, equals), pair.substr(equals + 1));
    }
    return Environment{std::move(variables)};
  }

  Variables const& variables() const { return variables_; }

  /// The value; an empty one counts as not set.
  std::optional<std::string> get(std::string_view name) const {
    auto const found = variables_.find(name);
    if (found == variables_.end() || found->second.empty()) return std::nullopt;
    return found->second;
  }

  bool has(std::string_view name) const { return get(name).has_value(); }

  /// The value, or a ConfigurationError that names the variable and says what it is for.
  std::string require(std::string_view name, std::string_view purpose) const {
    if (auto value = get(name)) return *value;
    throw ConfigurationError(text("fleet: the environment variable ", name, " is not set; it gives ", purpose));
  }

  /// The value as a whole number of at least `lowest`; throws ConfigurationError that names variable and value.
  std::optional<int> integer(std::string_view name, int lowest = 0) const {
    auto const value = get(name);
    if (!value) return std::nullopt;
    int number = 0;
    auto const [end, error] = std::from_chars(value->data(), value->data() + value->size(), number);
    if (error != std::errc{} || end != value->data() + value->size() || number < lowest)
      throw ConfigurationError(text("fleet: ", name, "=\"", *value, "\" is not a whole number of at least ", lowest,
                                    "; correct it or unset it"));
    return number;
  }

 private:
  Variables variables_;
};

}  // namespace fleet
