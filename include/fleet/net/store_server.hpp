#pragma once
#include <cstddef>
#include <memory>
#include <string>

#include <fleet/core/config.hpp>
#include <fleet/net/token.hpp>

namespace fleet::net {

/// The job's meeting place: keeps small values under /scope/key, over HTTP, for those who hold the job's token.
/// PUT stores (with `If-None-Match: *` only where nothing is yet: 412), GET reads or says 404, DELETE records that a
/// client is finished with a scope; fewer than two path components are 400, a request without proof is 401 and is
/// logged once a host. Serves from its own threads until it is destroyed.
class StoreServer {
 public:
  /// `bind` is "host:port"; port 0 lets the system choose. A name, an IPv4 address, or an IPv6 address in brackets.
  /// Throws ConfigurationError where it cannot listen there, with the reason and what to do.
  FLEET_BODY StoreServer(std::string const& bind, Token token);
  FLEET_BODY ~StoreServer();
  StoreServer(StoreServer const&) = delete;
  StoreServer& operator=(StoreServer const&) = delete;

  /// "host:port" for clients: the host as given, the port that it has.
  FLEET_BODY std::string const& endpoint() const;
  /// How many clients have said that they are finished with `scope`.
  FLEET_BODY std::size_t finished(std::string const& scope) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fleet::net

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/net/detail/store_server_impl.hpp>  // IWYU pragma: export
#endif
