#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <fleet/core/config.hpp>
#include <fleet/core/deadline.hpp>
#include <fleet/net/token.hpp>

namespace fleet::net {

/// A client of the StoreServer at `endpoint` ("host:port"), for the keys of one scope. The server may start later:
/// every call tries again, at all addresses of the host, until its deadline. Copies share one connection state and
/// may be used by several threads. Throws TransportError (refused) where the server cannot be reached in time, does
/// not accept our token or cannot prove its own; the text names endpoint and key.
class StoreClient {
 public:
  FLEET_BODY StoreClient(std::string endpoint, Token token, std::string scope);

  FLEET_BODY void put(std::string_view key, std::string_view value, Deadline deadline) const;
  /// Stores the value unless the key holds another one; returns what the key holds then.
  FLEET_BODY std::string claim(std::string_view key, std::string_view value, Deadline deadline) const;
  /// None where nobody has put it yet.
  FLEET_BODY std::optional<std::string> get(std::string_view key, Deadline deadline) const;
  /// Returns the value as soon as somebody has put it. On expiry a TransportError (silent).
  FLEET_BODY std::string wait(std::string_view key, Deadline deadline) const;
  /// Tells the server that this process needs the scope no more.
  FLEET_BODY void done(Deadline deadline = Deadline::after(std::chrono::seconds{5})) const;

  FLEET_BODY std::string const& endpoint() const;
  FLEET_BODY std::string const& scope() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace fleet::net

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/net/detail/store_client_impl.hpp>  // IWYU pragma: export
#endif
