#pragma once
#include <functional>
#include <string>
#include <thread>

#include <fleet/core/config.hpp>

namespace fleet {

/// Starts a thread that takes no signals (they go to the program's own threads). Where the system has no thread to
/// give, throws ConfigurationError that says what `purpose` it was for and which limit was reached.
FLEET_BODY std::thread start_thread(std::string const& purpose, std::function<void()> body);

}  // namespace fleet

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/core/detail/thread_impl.hpp>  // IWYU pragma: export
#endif
