#pragma once
#include <cstdint>

#include <fleet/comm/call.hpp>
#include <fleet/comm/frame.hpp>
#include <fleet/comm/transport.hpp>
#include <fleet/core/config.hpp>

namespace fleet::comm {

/// Throws ContractError that names rank, operation, sizes and remedy, unless the call can be made by `rank` of `size`.
FLEET_BODY void check_call(Call const& call, int rank, int size);

/// What the other ranks must have called too.
FLEET_BODY Frame frame_of(Call const& call, std::uint64_t number);

/// Does what a checked call asks, by the algorithm that fits its size.
FLEET_BODY void perform(Transport& transport, Call const& call);

}  // namespace fleet::comm

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/comm/detail/perform_impl.hpp>  // IWYU pragma: export
#endif
