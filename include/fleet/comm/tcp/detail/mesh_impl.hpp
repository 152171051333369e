#pragma once
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fleet/comm/tcp/detail/link.hpp>
#include <fleet/comm/tcp/detail/mesh.hpp>
#include <fleet/core/deadline.hpp>
#include <fleet/core/error.hpp>
#include <fleet/core/log.hpp>
#include <fleet/net/address.hpp>
#include <fleet/net/socket.hpp>
#include <fleet/net/token.hpp>

namespace fleet::comm::tcp {
namespace detail {

using Bytes16 = std::array<char, 16>;
constexpr std::array<char, 8> mesh_magic{'f', 'l', 'e', 'e', 't', '/', '1', '\n'};

/// The first words of the connecting side.
struct Hello {
  std::array<char, 8> magic = mesh_magic;
  std::int32_t channel = 0, rank = 0;  // channel 0: data, 1: control
  Bytes16 nonce{};
  net::Digest group{};
};
struct Challenge {
  std::array<char, 8> magic = mesh_magic;
  Bytes16 nonce{};
  net::Digest proof{};
};
enum class Verdict : char { welcome = 'w', other_group = 'g', bad_proof = 'p', twice = 't' };

template <class T>
std::string_view bytes_of(T const& value) {
  return {reinterpret_cast<char const*>(&value), sizeof value};
}
template <class T>
std::span<std::byte> room_of(T& value) {
  return std::as_writable_bytes(std::span{&value, 1});
}

inline Bytes16 fresh_nonce() {
  Bytes16 out;
  auto const bytes = net::random_bytes(out.size());
  std::copy(bytes.begin(), bytes.end(), out.begin());
  return out;
}

inline net::Digest server_proof(net::Token const& token, Hello const& hello, Bytes16 const& nonce, int rank) {
  return token.proof({"mesh server", bytes_of(hello), bytes_of(nonce), std::to_string(rank)});
}
inline net::Digest client_proof(net::Token const& token, Hello const& hello, Challenge const& challenge) {
  return token.proof({"mesh client", bytes_of(hello), bytes_of(challenge)});
}

constexpr std::chrono::milliseconds check_interval{200};

/// The connecting side, and the accepting side, of one rank.
class Mesh {
 public:
  Mesh(net::Listener const& listener, MeshPlan const& plan) : listener_(listener), plan_(plan) {
    links_.resize(plan.places.size());
    for (std::size_t rank = 0; rank < links_.size(); ++rank) {
      if (static_cast<int>(rank) == plan.rank) continue;
      links_[rank] = std::make_unique<Link>();
      links_[rank]->name = plan.places[rank].name;
    }
  }

  std::vector<std::unique_ptr<Link>> make() {
    for (int rank = 0; rank < plan_.rank; ++rank) {
      link(rank).data = reach(rank, 0);
      link(rank).control = reach(rank, 1);
    }
    accept_all();
    return std::move(links_);
  }

 private:
  Link& link(int rank) { return *links_[static_cast<std::size_t>(rank)]; }
  net::Socket& socket(int rank, int channel) { return channel == 0 ? link(rank).data : link(rank).control; }

  [[noreturn]] void fail(TransportError::Cause cause, int peer, std::string const& reason) const {
    throw TransportError(
        cause, peer, "connect",
        text("fleet: rank ", plan_.rank, " of ", plan_.places.size(), " cannot join the group: ", reason));
  }

  void pause_or_expire(int peer) const {
    plan_.check();
    if (plan_.deadline.passed())
      fail(TransportError::Cause::silent, peer,
           text(plan_.places[static_cast<std::size_t>(peer)].name, " did not take part in time"));
  }

  net::Socket reach(int rank, int channel) {
    auto const& place = plan_.places[static_cast<std::size_t>(rank)];
    auto const addresses = net::resolve(net::HostPort::parse(place.endpoint));
    auto const patience = Deadline::after(std::chrono::seconds{3});
    for (;;) {
      std::string failure;
      if (auto socket =
              net::connect(addresses, std::min(plan_.deadline, Deadline::after(std::chrono::seconds{5})), failure)) {
        greet(*socket, rank, channel);
        return *std::move(socket);
      }
      if (patience.passed())
        fail(TransportError::Cause::refused, rank,
             text(place.name, " cannot be reached (", failure, "); is it running, and is a firewall between?"));
      pause_or_expire(rank);
      std::this_thread::sleep_for(std::chrono::milliseconds{50});
    }
  }

  void receive(net::Socket const& socket, std::span<std::byte> bytes, int rank) const {
    pollfd entry{socket.descriptor(), POLLIN, 0};
    while (::poll(&entry, 1, static_cast<int>(check_interval.count())) <= 0) pause_or_expire(rank);
    if (!socket.receive(bytes, std::min(plan_.deadline, Deadline::after(std::chrono::seconds{10}))))
      fail(TransportError::Cause::lost, rank,
           text(plan_.places[static_cast<std::size_t>(rank)].name, " broke the connection while both got to know"));
  }

  void greet(net::Socket const& socket, int rank, int channel) const {
    Hello const hello{.channel = channel, .rank = plan_.rank, .nonce = fresh_nonce(), .group = plan_.group};
    auto const& name = plan_.places[static_cast<std::size_t>(rank)].name;
    Challenge challenge;
    socket.send(std::as_bytes(std::span{&hello, 1}), plan_.deadline);
    receive(socket, room_of(challenge), rank);
    auto const expected = server_proof(plan_.token, hello, challenge.nonce, rank);
    if (challenge.magic != mesh_magic || !net::same(net::view(challenge.proof), net::view(expected)))
      fail(TransportError::Cause::refused, rank, text(name, " did not prove the job's token; is it of another job?"));
    auto const proof = client_proof(plan_.token, hello, challenge);
    socket.send(std::as_bytes(std::span{proof}), plan_.deadline);
    Verdict verdict{};
    receive(socket, room_of(verdict), rank);
    if (verdict != Verdict::welcome)
      fail(TransportError::Cause::refused, rank,
           text(name, verdict == Verdict::other_group ? " is of another job or group"
                      : verdict == Verdict::twice     ? " has a connection from this rank already"
                                                      : " did not accept our proof of the job's token"));
  }

  /// A connection from somebody who has not proved anything yet.
  struct Guest {
    net::Socket socket;
    Deadline deadline = Deadline::after(std::chrono::seconds{10});
    Hello hello{};
    Challenge challenge{};
    net::Digest proof{};
    bool challenged = false;
    std::size_t read = 0;
  };

  void accept_all() {
    for (int missing = first_missing(); missing >= 0; missing = first_missing()) {
      std::vector<pollfd> polled{{listener_.descriptor(), POLLIN, 0}};
      for (auto const& guest : guests_) polled.push_back({guest.socket.descriptor(), POLLIN, 0});
      ::poll(polled.data(), polled.size(), static_cast<int>(check_interval.count()));
      pause_or_expire(missing);
      std::size_t at = 1;
      for (auto guest = guests_.begin(); guest != guests_.end(); ++at) {
        bool const stays = polled[at].revents == 0 ? !guest->deadline.passed() : advance(*guest);
        if (!stays && guest->socket) report(guest->socket);
        guest = stays ? std::next(guest) : guests_.erase(guest);
      }
      while (guests_.size() < 64) {
        auto socket = listener_.accept();
        if (!socket) break;
        guests_.push_back({.socket = *std::move(socket)});
      }
    }
  }

  int first_missing() {
    for (int rank = plan_.rank + 1; rank < static_cast<int>(links_.size()); ++rank)
      if (!link(rank).data || !link(rank).control) return rank;
    return -1;
  }

  /// Reads what has come. False when the guest goes: as a stranger, or, its socket taken, as a peer.
  bool advance(Guest& guest) {
    auto const room = guest.challenged ? room_of(guest.proof) : room_of(guest.hello);
    iovec const piece{room.data() + guest.read, room.size() - guest.read};
    auto const result = guest.socket.try_receive({&piece, 1});
    if (result.state == net::Socket::State::would_block) return true;
    if (result.state == net::Socket::State::closed) return false;
    guest.read += result.bytes;
    if (guest.read < room.size()) return true;
    guest.read = 0;
    return guest.challenged ? admit(guest) : challenge(guest);
  }

  bool challenge(Guest& guest) {
    auto const& hello = guest.hello;
    if (hello.magic != mesh_magic || hello.channel < 0 || hello.channel > 1 || hello.rank <= plan_.rank ||
        hello.rank >= static_cast<int>(links_.size()))
      return false;
    guest.challenge.nonce = fresh_nonce();
    guest.challenge.proof = server_proof(plan_.token, hello, guest.challenge.nonce, plan_.rank);
    guest.challenged = true;
    return guest.socket.send(std::as_bytes(std::span{&guest.challenge, 1}), Deadline::after(std::chrono::seconds{1}));
  }

  bool admit(Guest& guest) {
    auto const expected = client_proof(plan_.token, guest.hello, guest.challenge);
    auto& place = socket(guest.hello.rank, guest.hello.channel);
    auto const verdict = !net::same(net::view(guest.proof), net::view(expected)) ? Verdict::bad_proof
                         : guest.hello.group != plan_.group                      ? Verdict::other_group
                         : place                                                 ? Verdict::twice
                                                                                 : Verdict::welcome;
    guest.socket.send(std::as_bytes(std::span{&verdict, 1}), Deadline::after(std::chrono::seconds{1}));
    if (verdict == Verdict::welcome) place = std::move(guest.socket);
    return false;
  }

  void report(net::Socket const& socket) {
    if (std::exchange(reported_, true)) return;
    log(LogLevel::warning,
        text("rank ", plan_.rank, " refused a connection from ", socket.peer().host(), " to ",
             listener_.address().text(), ": it did not prove the job's token (further ones are not reported)"));
  }

  net::Listener const& listener_;
  MeshPlan const& plan_;
  std::vector<std::unique_ptr<Link>> links_;
  std::list<Guest> guests_;
  bool reported_ = false;
};

}  // namespace detail

FLEET_BODY std::vector<std::unique_ptr<Link>> connect_mesh(net::Listener const& listener, MeshPlan const& plan) {
  return detail::Mesh{listener, plan}.make();
}

}  // namespace fleet::comm::tcp
