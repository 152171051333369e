#pragma once
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <fleet/comm/local/local.hpp>
#include <fleet/comm/shm/shm.hpp>
#include <fleet/comm/tcp/tcp.hpp>
#include <fleet/core/deadline.hpp>
#include <fleet/core/error.hpp>
#include <fleet/core/log.hpp>
#include <fleet/job/environment.hpp>
#include <fleet/job/init.hpp>
#include <fleet/job/meeting.hpp>
#include <fleet/job/role_checks.hpp>
#include <fleet/job/role_maker.hpp>
#include <fleet/net/address.hpp>
#include <fleet/net/store_client.hpp>
#include <fleet/net/store_server.hpp>

namespace fleet {
namespace detail {

inline void read_log_level(Environment const& environment) {
  auto const name = environment.get("FLEET_LOG");
  if (!name) return;
  LogLevel level;
  if (*name == "quiet")
    level = LogLevel::quiet;
  else if (*name == "warning")
    level = LogLevel::warning;
  else if (*name == "info")
    level = LogLevel::info;
  else if (*name == "debug")
    level = LogLevel::debug;
  else
    throw ConfigurationError(text("fleet: FLEET_LOG=", *name, " is none of quiet, warning, info and debug"));
  log_level() = level;
}

/// The workers' group, and the store where this process holds it: they end together.
struct Membership {
  std::unique_ptr<net::StoreServer> store;
  std::shared_ptr<comm::Communicator> workers;
};

inline bool answers(Role const& role) {
  try {
    net::StoreClient{role.store, role.token, "fleet"}.get("first", Deadline::after(std::chrono::seconds{2}));
    return true;
  } catch (Error const&) {
    return false;
  }
}

/// Opens the store. Where its port is taken, a second process may believe that it is the first worker: then it joins
/// the store of the other one, so that the rendezvous tells both.
inline void open_store(Membership& membership, Role& role) {
  bool const by_file = role.store.empty();
  if (by_file && role.token.empty()) role.token = net::Token::make().secret();
  try {
    membership.store = std::make_unique<net::StoreServer>(by_file ? "127.0.0.1:0" : role.store, role.token);
  } catch (ConfigurationError const&) {
    if (by_file || !answers(role)) throw;
    return;
  }
  if (!by_file) return;
  auto const meeting = publish_meeting(role.meeting_file, {membership.store->endpoint(), role.token});
  if (meeting.store != membership.store->endpoint()) membership.store.reset();
  role.store = meeting.store;
  role.token = meeting.token;
}

/// After a rendezvous that failed: the others learn from the store what was wrong, so the one who holds it waits for
/// them a moment.
inline void leave_store(Membership const& membership, net::StoreClient const& client, int workers) {
  if (membership.store) {
    auto const deadline = Deadline::after(std::chrono::seconds{2});
    while (membership.store->finished(client.scope()) + 1 < static_cast<std::size_t>(workers) && !deadline.passed())
      std::this_thread::sleep_for(std::chrono::milliseconds{10});
    return;
  }
  try {
    client.done(Deadline::after(std::chrono::seconds{1}));
  } catch (TransportError const&) {  // the store is gone already
  }
}

/// Where this worker listens: the interface asked for, at the port that its endpoint names.
inline std::string bind_address(Role const& role) {
  std::string own = role.worker_endpoints.empty() ? "" : role.worker_endpoints[static_cast<std::size_t>(role.index)];
  if (role.interface.empty()) return own;
  std::uint16_t const port = own.empty() ? std::uint16_t{0} : net::HostPort::parse(own).port;
  return net::HostPort{role.interface, port}.text();
}

/// Shared memory for workers of one host, TCP for others, unless the role names an engine.
inline std::shared_ptr<comm::Communicator> connect_workers(Role const& role, net::StoreClient const& client) {
  bool const one_host = role.local_num == role.worker_num && role.interface.empty();
  if (role.engine == "shm" || (role.engine.empty() && one_host))
    return comm::shm::connect({.rank = role.index,
                               .size = role.worker_num,
                               .store = client,
                               .connect_timeout = role.timeout,
                               .timeout = role.timeout});
  if (!role.engine.empty() && role.engine != "tcp")
    throw ConfigurationError(text("fleet: FLEET_ENGINE=", role.engine, " is no engine; give shm or tcp"));
  return comm::tcp::connect({.rank = role.index,
                             .size = role.worker_num,
                             .store = client,
                             .job_id = role.job_id,
                             .token = role.token,
                             .bind = bind_address(role),
                             .connect_timeout = role.timeout,
                             .timeout = role.timeout});
}

inline std::shared_ptr<comm::Communicator> join_workers(Role& role) {
  if (role.worker_num == 1) {
    auto alone = comm::local::make_group(1).front();
    alone->set_timeout(role.timeout);
    return alone;
  }
  if (role.store.empty() && role.meeting_file.empty())
    throw ConfigurationError(text("fleet: worker ", role.index, " of ", role.worker_num,
                                  " does not know where to meet the others: its role gives neither a store nor a "
                                  "meeting file"));
  auto membership = std::make_shared<Membership>();
  bool const by_file = role.store.empty();
  if (role.index == 0 && !role.store_is_running) {
    open_store(*membership, role);
  } else if (by_file) {
    auto const meeting = await_meeting(role.meeting_file, Deadline::after(role.timeout));
    role.store = meeting.store;
    role.token = meeting.token;
  }
  net::StoreClient const client{role.store, role.token, role.job_id.empty() ? "fleet" : role.job_id};
  try {
    membership->workers = connect_workers(role, client);
  } catch (...) {
    leave_store(*membership, client, role.worker_num);
    throw;
  }
  if (by_file) end_meeting(role.meeting_file);
  return {membership, membership->workers.get()};
}

/// So that what a rank prints is passed on, and not lost if it is killed, although a pipe is no terminal.
inline void pass_on_whole_lines(Role const& role) {
  if (role.source != Role{}.source && ::isatty(STDOUT_FILENO) == 0) std::setvbuf(stdout, nullptr, _IOLBF, 0);
}

}  // namespace detail

FLEET_BODY Job init(Role role) {
  detail::read_log_level(Environment::of_process());
  check_role(role);
  detail::pass_on_whole_lines(role);
  if (role.is_server) return Job{std::move(role), nullptr};
  try {
    auto workers = detail::join_workers(role);
    return Job{std::move(role), std::move(workers)};
  } catch (TransportError const& error) {
    throw TransportError(error.cause(), error.peer(), error.operation(),
                         text(error.what(), "; this process is worker ", role.index, " of ", role.worker_num,
                              " by its role (", role.source, ")"));
  }
}

FLEET_BODY Job init() { return init(make_role(Environment::of_process())); }

FLEET_BODY Job init(int, char const* const*) { return init(); }

}  // namespace fleet
