#pragma once
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fleet/comm/tcp/detail/rendezvous.hpp>
#include <fleet/core/error.hpp>
#include <fleet/net/address.hpp>

namespace fleet::comm::tcp {
namespace detail {

inline std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> out{{}};
  for (char letter : text) {
    if (letter == '\n')
      out.emplace_back();
    else
      out.back() += letter;
  }
  return out;
}

inline int number_in(std::string_view digits) {
  int value = -1;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

inline std::string seconds(std::chrono::milliseconds time) {
  return text(static_cast<double>(time.count()) / 1000, " s");
}

/// What the list in the store begins with: how the meeting went.
inline constexpr std::string_view good = "good\n", wrong = "wrong\n", absent = "absent\n";

/// Loopback leads nowhere from another host.
inline void check_reach(std::vector<Entry> const& entries) {
  for (std::size_t a = 0; a < entries.size(); ++a)
    for (std::size_t b = 0; b < entries.size(); ++b)
      if (entries[a].host != entries[b].host &&
          net::resolve(net::HostPort::parse(entries[a].endpoint)).front().loopback())
        throw ConfigurationError(
            text("fleet: rank ", a, " (", entries[a].whereabouts, ") listens on ", entries[a].endpoint,
                 ", a loopback address that rank ", b, " (", entries[b].whereabouts,
                 ") cannot reach from its host; name the address or the interface by which hosts reach each other"));
}

}  // namespace detail

FLEET_BODY std::string Entry::text() const {
  return fleet::text(size, "\n", endpoint, "\n", host, "\n", whereabouts, "\n", nonce);
}

FLEET_BODY Entry Entry::parse(std::string const& text) {
  auto lines = detail::lines_of(text);
  lines.resize(5);
  return {detail::number_in(lines[0]), lines[1], lines[2], lines[3], lines[4]};
}

FLEET_BODY std::vector<Entry> Rendezvous::meet(Entry const& own) const {
  auto const& store = *options_.store;
  auto const me = text("rank ", options_.rank, " (", own.whereabouts, ")");
  auto const size = store.claim(key("size"), text(own.size, "\n", me), deadline_);
  if (detail::number_in(size) != own.size)
    throw ConfigurationError(text("fleet: ", me, " was started as one of ", own.size, " ranks, but ",
                                  detail::lines_of(size).back(), " as one of ", detail::number_in(size),
                                  "; start all ranks with the same number"));
  auto const entered = store.claim(key(text("rank/", options_.rank)), own.text(), deadline_);
  if (entered != own.text())
    throw ConfigurationError(text("fleet: two processes say that they are rank ", options_.rank, ": ",
                                  Entry::parse(entered).whereabouts, " and ", own.whereabouts,
                                  "; give each process an index of its own"));
  if (options_.rank == 0) {
    std::string list{detail::good};
    for (auto const& entry : collect(own)) list += entry.text() + "\n";
    return read(store.claim(key("list"), list, deadline_));
  }
  try {
    // Rank 0 waits as long, and then says who is missing.
    return read(store.wait(key("list"), Deadline{deadline_.at() + std::chrono::seconds{2}}));
  } catch (TransportError const& error) {
    if (error.cause() != TransportError::Cause::silent || error.peer() >= 0) throw;
    throw TransportError(
        TransportError::Cause::silent, 0, "connect",
        text("fleet: ", me, " waited ", detail::seconds(options_.connect_timeout),
             " for rank 0, which did not come to the store at ", store.endpoint(), "; is it running?"));
  }
}

FLEET_BODY std::vector<Entry> Rendezvous::collect(Entry const& own) const {
  auto const& store = *options_.store;
  auto const ranks = static_cast<std::size_t>(options_.size);
  std::vector<std::optional<Entry>> found(ranks);
  found[0] = own;
  for (std::chrono::milliseconds pause{2};; pause = std::min(2 * pause, std::chrono::milliseconds{50})) {
    for (std::size_t rank = 1; rank < ranks; ++rank) {
      if (found[rank]) continue;
      if (auto const entry = store.get(key(text("rank/", rank)), deadline_)) found[rank] = Entry::parse(*entry);
    }
    auto const missing = std::find(found.begin(), found.end(), std::nullopt);
    if (missing == found.end()) break;
    if (auto const list = store.get(key("list"), deadline_)) read(*list);  // another rank has found a fault
    if (deadline_.passed()) {
      std::string names;
      for (std::size_t rank = 0; rank < ranks; ++rank)
        if (!found[rank]) names += text(names.empty() ? "" : ", ", rank);
      throw TransportError(TransportError::Cause::silent, static_cast<int>(missing - found.begin()), "connect",
                           text("fleet: of ", ranks, " ranks these did not come to the store at ", store.endpoint(),
                                " within ", detail::seconds(options_.connect_timeout), ": ", names,
                                "; are they running, and do they have the same store?"));
    }
    std::this_thread::sleep_for(std::min(pause, deadline_.remaining()));
  }
  std::vector<Entry> out;
  out.reserve(found.size());
  for (auto& entry : found) out.push_back(*std::move(entry));
  detail::check_reach(out);
  return out;
}

FLEET_BODY std::vector<Entry> Rendezvous::read(std::string const& list) const {
  std::string_view rest = list;
  auto const starts = [&](std::string_view word) { return rest.substr(0, word.size()) == word; };
  if (starts(detail::wrong)) throw ConfigurationError(list.substr(detail::wrong.size()));
  if (starts(detail::absent)) {
    auto const peer = detail::number_in(rest.substr(detail::absent.size()));
    throw TransportError(TransportError::Cause::silent, peer, "connect",
                         list.substr(list.find('\n', detail::absent.size()) + 1));
  }
  auto const lines = detail::lines_of(rest.substr(std::min(rest.size(), detail::good.size())));
  std::vector<Entry> out;
  for (std::size_t at = 0; at + 5 <= lines.size(); at += 5)
    out.push_back({detail::number_in(lines[at]), lines[at + 1], lines[at + 2], lines[at + 3], lines[at + 4]});
  if (!starts(detail::good) || out.size() != static_cast<std::size_t>(options_.size))
    throw ConfigurationError(text("fleet: the ranks' list in the store at ", options_.store->endpoint(), " names ",
                                  out.size(), " ranks and not ", options_.size,
                                  "; has another job the same store and scope?"));
  return out;
}

FLEET_BODY void Rendezvous::give_up(std::exception const& error) const noexcept {
  try {
    auto const* known = dynamic_cast<TransportError const*>(&error);
    auto const prefix = known != nullptr ? text(detail::absent, known->peer(), "\n") : std::string{detail::wrong};
    auto const soon = Deadline::after(std::chrono::seconds{2});
    options_.store->claim(key("list"), prefix + error.what(), soon);
    options_.store->claim(key("failure"), text("rank ", options_.rank, ": ", error.what()), soon);
  } catch (std::exception const&) {  // without the store there is no way to tell
  }
}

FLEET_BODY void Rendezvous::check() const {
  if (auto const failure = options_.store->get(key("failure"), deadline_))
    throw TransportError(TransportError::Cause::aborted, detail::number_in(failure->substr(5)), "connect",
                         text("fleet: rank ", options_.rank, " of ", options_.size,
                              " cannot join the group, as another rank failed: ", *failure));
}

}  // namespace fleet::comm::tcp
