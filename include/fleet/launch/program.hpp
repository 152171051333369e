#pragma once
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

#include <fleet/core/error.hpp>
#include <fleet/job/environment.hpp>

namespace fleet::launch {

/// A program that cannot be started; `status` is what a shell would return: 127 not found, 126 not executable.
class ProgramError : public ConfigurationError {
 public:
  ProgramError(int status, std::string const& message) : ConfigurationError(message), status_(status) {}
  int status() const noexcept { return status_; }

 private:
  int status_;
};

/// The file that `name` stands for, looked up in PATH as a shell does. Throws ProgramError.
inline std::string find_program(std::string const& name, Environment const& environment) {
  auto const is_file = [](std::string const& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
  };
  auto const check = [&](std::string const& path) {
    if (::access(path.c_str(), X_OK) != 0)
      throw ProgramError(
          126, text("fleetrun: ", path, " is not executable (", std::strerror(errno), "); make it so with chmod +x",
                    path.ends_with(".py") ? ", or start its interpreter: python3 " + path : ""));
    return path;
  };
  if (name.find('/') != std::string::npos) {
    if (is_file(name)) return check(name);
    struct stat status {};
    if (::stat(name.c_str(), &status) == 0)
      throw ProgramError(126, text("fleetrun: ", name, " is a folder, not a program"));
    throw ProgramError(127, text("fleetrun: there is no program ", name, " (", std::strerror(errno), ")"));
  }
  auto const path = environment.get("PATH").value_or("/usr/local/bin:/usr/bin:/bin");
  for (std::size_t begin = 0; begin <= path.size();) {
    auto const end = std::min(path.find(':', begin), path.size());
    auto candidate = text(begin == end ? "." : path.substr(begin, end - begin), "/", name);
    if (is_file(candidate) && ::access(candidate.c_str(), X_OK) == 0) return candidate;
    begin = end + 1;
  }
  throw ProgramError(127, text("fleetrun: there is no program \"", name, "\" in PATH",
                               is_file(name) ? "; for the file in this folder write ./" + name : ""));
}

}  // namespace fleet::launch
