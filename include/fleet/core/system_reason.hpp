#pragma once
#include <string>

#include <fleet/core/config.hpp>

namespace fleet {

/// What the system says about `error` (an errno); where a limit was reached, which one, its value, and what to do.
FLEET_BODY std::string system_reason(int error);

/// Throws ConfigurationError where a limit of this process was reached (EMFILE, ENFILE, ENOBUFS, ENOMEM): `what` it
/// could not do and why. Returns for other errors.
FLEET_BODY void throw_if_limit(std::string const& what, int error);

}  // namespace fleet

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/core/detail/system_reason_impl.hpp>  // IWYU pragma: export
#endif
