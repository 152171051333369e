#pragma once
#include <memory>

#include <fleet/comm/communicator.hpp>
#include <fleet/comm/tcp/options.hpp>
#include <fleet/core/config.hpp>

namespace fleet::comm::tcp {

/// Joins the group: listens, publishes the endpoint in the store, and connects to every other rank. All ranks call it
/// with the same size, group, job id and token. Throws ConfigurationError for settings that cannot work or contradict
/// those of other ranks (two processes with one rank, another size: on every rank, naming both), and TransportError
/// for ranks that do not come in time.
FLEET_BODY std::shared_ptr<Communicator> connect(Options const& options);

}  // namespace fleet::comm::tcp

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/comm/tcp/detail/tcp_impl.hpp>  // IWYU pragma: export
#endif
