#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include <fleet/core/config.hpp>
#include <fleet/launch/ending.hpp>

namespace fleet::launch {

/// The ending that brought the others about: the first failure, unless its error stream lays it on a rank that failed
/// by itself too, or another rank was killed in the same moment. None where nobody failed by itself.
std::optional<std::size_t> first_cause(std::span<Ending const> endings);

/// What is printed last: who failed first, how, when, the end of its error stream, and what became of the others.
std::string failure_summary(std::span<Ending const> endings, std::size_t cause);

/// What is printed last where somebody stopped the launcher.
std::string stop_summary(std::span<Ending const> endings, int signal_number);

}  // namespace fleet::launch

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/launch/detail/summary_impl.hpp>  // IWYU pragma: export
#endif
