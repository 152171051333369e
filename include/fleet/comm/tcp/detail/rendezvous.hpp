#pragma once
#include <exception>
#include <string>
#include <vector>

#include <fleet/comm/tcp/options.hpp>
#include <fleet/core/config.hpp>
#include <fleet/core/deadline.hpp>

namespace fleet::comm::tcp {

/// What a rank tells the others of itself in the store.
struct Entry {
  int size = 0;
  std::string endpoint;     ///< where it listens
  std::string host;         ///< net::host_identity
  std::string whereabouts;  ///< for people: host name and process
  std::string nonce;        ///< tells two processes apart that say the same

  FLEET_BODY std::string text() const;
  FLEET_BODY static Entry parse(std::string const& text);
};

/// The ranks' meeting in the store: rank 0 collects what all have entered and publishes the list, or what is wrong.
class Rendezvous {
 public:
  Rendezvous(Options const& options, Deadline deadline) : options_(options), deadline_(deadline) {}

  /// Enters this rank and returns the entries of all. Throws the same ConfigurationError or TransportError on all
  /// ranks.
  FLEET_BODY std::vector<Entry> meet(Entry const& own) const;
  /// Tells those who still wait that this rank fails; says nothing itself.
  FLEET_BODY void give_up(std::exception const& error) const noexcept;
  /// Throws where another rank has given up.
  FLEET_BODY void check() const;

 private:
  std::string key(std::string const& name) const { return options_.group + "/" + name; }
  FLEET_BODY std::vector<Entry> collect(Entry const& own) const;
  FLEET_BODY std::vector<Entry> read(std::string const& list) const;

  Options const& options_;
  Deadline deadline_;
};

}  // namespace fleet::comm::tcp

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/comm/tcp/detail/rendezvous_impl.hpp>  // IWYU pragma: export
#endif
