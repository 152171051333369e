#pragma once
#include <sys/types.h>

#include <csignal>
#include <string>
#include <vector>

#include <fleet/core/config.hpp>
#include <fleet/core/descriptor.hpp>
#include <fleet/job/environment.hpp>
#include <fleet/launch/plan.hpp>

namespace fleet::launch {

/// What all processes of a launcher get alike.
struct ChildSetup {
  std::string program;
  std::vector<std::string> command;
  Environment::Variables inherited;   ///< the launcher's variables without those of `Plan::removed`
  sigset_t signal_mask{};             ///< as it was before the launcher blocked signals
  std::vector<int> kept_descriptors;  ///< sorted: what the launcher was started with; all others are closed
};

/// A started process, its own process group's leader. It dies with the thread that started it, whatever happens.
struct Child {
  pid_t pid = -1;
  Descriptor handle;         ///< a pidfd: becomes readable when the process ends
  Descriptor output, error;  ///< its two streams
};

/// Starts a process with /dev/null as its input; no shell comes between. Throws Error that names the limit where the
/// system has no descriptor or process left, and ProgramError where the program cannot be executed.
Child start_child(ChildSetup const& setup, ProcessSpec const& process);

/// The descriptors that this process has open, sorted.
std::vector<int> open_descriptors();

}  // namespace fleet::launch

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/launch/detail/child_impl.hpp>  // IWYU pragma: export
#endif
