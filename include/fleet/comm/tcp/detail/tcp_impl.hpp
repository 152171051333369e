#pragma once
#include <dirent.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <iterator>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fleet/comm/engine.hpp>
#include <fleet/comm/tcp/detail/mesh.hpp>
#include <fleet/comm/tcp/detail/rendezvous.hpp>
#include <fleet/comm/tcp/detail/tcp_transport.hpp>
#include <fleet/comm/tcp/tcp.hpp>
#include <fleet/core/error.hpp>
#include <fleet/net/address.hpp>
#include <fleet/net/interfaces.hpp>
#include <fleet/net/socket.hpp>

namespace fleet::comm::tcp {
namespace detail {

/// Finds out before anything is begun whether the descriptors will last.
inline void check_descriptors(int size) {
  rlimit limit{};
  auto* const folder = ::opendir("/proc/self/fd");
  if (folder == nullptr || ::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  std::size_t open = 0;
  while (::readdir(folder) != nullptr) ++open;
  ::closedir(folder);
  open -= std::min<std::size_t>(open, 3);  // ".", "..", and the folder itself
  std::size_t const needed = 2 * static_cast<std::size_t>(size - 1) + 4;
  if (limit.rlim_cur != RLIM_INFINITY && open + needed > limit.rlim_cur)
    throw ConfigurationError(text("fleet: a group of ", size, " ranks takes ", needed,
                                  " descriptors; this process has ", open, " open and may have ", limit.rlim_cur,
                                  " (RLIMIT_NOFILE): raise the limit with ulimit -n"));
}

/// "eth0", "eth0:4711", "10.0.0.2", "[::1]:0" and "::1" taken apart.
inline net::HostPort parse_bind(std::string const& bind) {
  bool const several = std::count(bind.begin(), bind.end(), ':') > 1, brackets = bind.front() == '[';
  if (bind.find(':') == std::string::npos || (several && !brackets)) return {bind, 0};
  if (bind.back() == ']') return {bind.substr(1, bind.size() - 2), 0};
  return net::HostPort::parse(bind);
}

/// The local address by which the store is reached.
inline net::SocketAddress address_towards(net::HostPort const& store) {
  auto const targets = net::resolve(store);
  for (std::size_t i = 0; i + 1 < targets.size(); ++i) {
    try {
      return net::source_address(targets[i]);
    } catch (ConfigurationError const&) {  // one family of addresses may be off
    }
  }
  return net::source_address(targets.back());
}

/// The address to listen on, and the host that is told to the others.
inline std::pair<net::SocketAddress, std::string> choose_place(Options const& options) {
  auto const store = net::HostPort::parse(options.store->endpoint());
  net::SocketAddress address;
  if (!options.bind.empty()) {
    auto const bind = parse_bind(options.bind);
    address = net::local_address(bind.host).with_port(bind.port);
  } else {
    address = address_towards(store);
    // A host's own name may lead to loopback, but on that host alone.
    bool const own_name = store.host != "localhost" && store.host != net::resolve(store).front().host();
    auto const others = net::interfaces();
    bool const reachable =
        std::any_of(others.begin(), others.end(), [](auto const& one) { return !one.address.loopback(); });
    if (address.loopback() && own_name && reachable) address = net::routable_address();
  }
  auto advertised = options.advertise;
  if (advertised.empty()) advertised = (address.wildcard() ? address_towards(store) : address).host();
  return {address, advertised};
}

inline bool a_core_for_each(std::vector<Entry> const& entries, std::string const& host) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (::sched_getaffinity(0, sizeof cores, &cores) != 0) return false;
  auto const here =
      std::count_if(entries.begin(), entries.end(), [&](auto const& entry) { return entry.host == host; });
  return here <= CPU_COUNT(&cores);
}

inline void check_options(Options const& options) {
  if (options.size < 1) throw ConfigurationError(text("fleet: a group has at least 1 rank, not ", options.size));
  if (options.rank < 0 || options.rank >= options.size)
    throw ConfigurationError(
        text("fleet: there is no rank ", options.rank, " of ", options.size, "; ranks are 0 to ", options.size - 1));
  if (options.size > 1 && !options.store)
    throw ConfigurationError(text("fleet: ", options.size, " ranks need a store to meet in; name its endpoint"));
}

/// The group's transport, over a mesh that all ranks have agreed on.
inline std::unique_ptr<Transport> join(Options const& options, Rendezvous const& meeting, Deadline deadline) {
  check_descriptors(options.size);
  auto const [address, advertised] = choose_place(options);
  net::Listener const listener{address};
  Entry const own{options.size, net::HostPort{advertised, listener.address().port()}.text(), net::host_identity(),
                  text(net::host_name(), ", process ", ::getpid()), net::hex(net::random_bytes(8))};
  auto const entries = meeting.meet(own);
  Membership membership{.token = options.token,
                        .group = text(options.job_id, "\n", options.group, "\n", options.size),
                        .address = address,
                        .advertised = advertised,
                        .labels = std::vector<int>(entries.size()),
                        .may_spin = a_core_for_each(entries, own.host)};
  std::iota(membership.labels.begin(), membership.labels.end(), 0);
  std::vector<Place> places;
  for (std::size_t rank = 0; rank < entries.size(); ++rank)
    places.push_back({entries[rank].endpoint, text("rank ", rank, " at ", entries[rank].endpoint)});
  auto last_look = Deadline::Clock::now();
  auto const check = [&] {
    auto const now = Deadline::Clock::now();
    if (now - last_look < std::chrono::milliseconds{500}) return;
    last_look = now;
    meeting.check();
  };
  auto links = connect_mesh(listener, {.rank = options.rank,
                                       .places = std::move(places),
                                       .token = options.token,
                                       .group = net::sha256(membership.group),
                                       .deadline = deadline,
                                       .check = check});
  return std::make_unique<TcpTransport>(options.rank, std::move(membership), std::move(links), options.piece_bytes);
}

}  // namespace detail

FLEET_BODY std::shared_ptr<Communicator> connect(Options const& options) {
  detail::check_options(options);
  std::unique_ptr<Transport> transport;
  if (options.size == 1) {
    std::vector<std::unique_ptr<Link>> none(1);
    transport =
        std::make_unique<TcpTransport>(0, Membership{.token = options.token, .group = options.group, .labels = {0}},
                                       std::move(none), options.piece_bytes);
  } else {
    auto const deadline = Deadline::after(options.connect_timeout);
    Rendezvous const meeting{options, deadline};
    try {
      transport = detail::join(options, meeting, deadline);
    } catch (std::exception const& error) {
      meeting.give_up(error);
      throw;
    }
  }
  return std::make_shared<Engine>(std::move(transport), options.timeout, options.checks);
}

}  // namespace fleet::comm::tcp
