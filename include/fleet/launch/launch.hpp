#pragma once
#include <fleet/core/config.hpp>
#include <fleet/job/environment.hpp>
#include <fleet/launch/settings.hpp>

namespace fleet::launch {

/// Starts the program once a rank on this host, watches over it, and returns the status to exit with: 0; that of the
/// rank that failed first, where a signal counts as 128 + its number; 128 + the signal that stopped the launcher; 2
/// for settings that cannot work, 126 and 127 for a program that cannot be executed or found. Nothing is started
/// in these last cases. Forks: call it from a program's main, before there are threads.
int launch(Settings const& settings, Environment const& environment);

}  // namespace fleet::launch

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/launch/detail/launch_impl.hpp>  // IWYU pragma: export
#endif
