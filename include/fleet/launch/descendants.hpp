#pragma once
#include <fleet/core/config.hpp>
#include <fleet/core/deadline.hpp>

namespace fleet::launch {

/// Makes this process the parent of descendants whose own parent ends, so that none gets out of sight.
void adopt_orphans();

/// Kills and reaps every descendant of this process, also those that left their process group. Needs
/// `adopt_orphans` from before they were started. False where some could not be ended in time.
bool end_descendants(Deadline deadline);

}  // namespace fleet::launch

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/launch/detail/descendants_impl.hpp>  // IWYU pragma: export
#endif
