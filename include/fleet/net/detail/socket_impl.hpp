#pragma once
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <optional>
#include <span>
#include <string>

#include <fleet/core/error.hpp>
#include <fleet/core/system_reason.hpp>
#include <fleet/net/socket.hpp>

namespace fleet::net {
namespace detail {

inline int poll_timeout(Deadline deadline) {
  return static_cast<int>(std::min<std::chrono::milliseconds::rep>(deadline.remaining().count(), INT_MAX));
}

/// Whether `events` came before the deadline.
inline bool ready(int descriptor, short events, Deadline deadline) {
  pollfd entry{descriptor, events, 0};
  for (;;) {
    int const count = ::poll(&entry, 1, poll_timeout(deadline));
    if (count > 0) return true;
    if (count == 0 || errno != EINTR) return false;
  }
}

inline void send_at_once(int descriptor) {
  int const on = 1;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

inline Socket::Result outcome(ssize_t moved) {
  if (moved > 0) return {Socket::State::moved, static_cast<std::size_t>(moved)};
  if (moved == 0) return {Socket::State::closed};
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return {Socket::State::would_block};
  return {Socket::State::closed, 0, errno};
}

inline msghdr header_of(std::span<iovec const> pieces) {
  msghdr header{};
  header.msg_iov = const_cast<iovec*>(pieces.data());
  header.msg_iovlen = pieces.size();
  return header;
}

}  // namespace detail

FLEET_BODY void Socket::close() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

FLEET_BODY SocketAddress Socket::peer() const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getpeername(descriptor_, reinterpret_cast<sockaddr*>(&address), &size);
  return {reinterpret_cast<sockaddr const*>(&address), size};
}

FLEET_BODY Socket::Result Socket::try_send(std::span<iovec const> pieces) const {
  auto const header = detail::header_of(pieces);
  return detail::outcome(::sendmsg(descriptor_, &header, MSG_NOSIGNAL | MSG_DONTWAIT));
}

FLEET_BODY Socket::Result Socket::try_receive(std::span<iovec const> pieces) const {
  auto header = detail::header_of(pieces);
  return detail::outcome(::recvmsg(descriptor_, &header, MSG_DONTWAIT));
}

FLEET_BODY bool Socket::send(std::span<std::byte const> bytes, Deadline deadline) const {
  while (!bytes.empty()) {
    iovec const piece{const_cast<std::byte*>(bytes.data()), bytes.size()};
    auto const result = try_send({&piece, 1});
    if (result.state == State::closed) return false;
    if (result.state == State::would_block && !detail::ready(descriptor_, POLLOUT, deadline)) return false;
    bytes = bytes.subspan(result.bytes);
  }
  return true;
}

FLEET_BODY bool Socket::receive(std::span<std::byte> bytes, Deadline deadline) const {
  while (!bytes.empty()) {
    iovec const piece{bytes.data(), bytes.size()};
    auto const result = try_receive({&piece, 1});
    if (result.state == State::closed) return false;
    if (result.state == State::would_block && !detail::ready(descriptor_, POLLIN, deadline)) return false;
    bytes = bytes.subspan(result.bytes);
  }
  return true;
}

FLEET_BODY Listener::Listener(SocketAddress const& address)
    : socket_(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  auto const refuse = [&](int error) {
    throw ConfigurationError(text("fleet: cannot listen on ", address.text(), ": ", system_reason(error)));
  };
  if (!socket_) refuse(errno);
  int const on = 1;
  ::setsockopt(descriptor(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(descriptor(), address.data(), address.size()) != 0 || ::listen(descriptor(), SOMAXCONN) != 0)
    refuse(errno);
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  ::getsockname(descriptor(), reinterpret_cast<sockaddr*>(&own), &size);
  address_ = {reinterpret_cast<sockaddr const*>(&own), size};
}

FLEET_BODY std::optional<Socket> Listener::accept() const {
  int const descriptor = ::accept4(this->descriptor(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (descriptor < 0) {
    throw_if_limit("cannot accept a connection on " + address_.text(), errno);
    return std::nullopt;
  }
  detail::send_at_once(descriptor);
  return Socket{descriptor};
}

FLEET_BODY std::optional<Socket> connect(std::span<SocketAddress const> addresses, Deadline deadline,
                                         std::string& failure) {
  for (auto const& address : addresses) {
    Socket socket{::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    if (!socket) {
      throw_if_limit("cannot connect to " + address.text(), errno);
      failure = text(address.text(), ": ", system_reason(errno));
      continue;
    }
    int error = ::connect(socket.descriptor(), address.data(), address.size()) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
      socklen_t size = sizeof error;
      if (!detail::ready(socket.descriptor(), POLLOUT, deadline))
        error = ETIMEDOUT;
      else
        ::getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &size);
    }
    if (error == 0) {
      detail::send_at_once(socket.descriptor());
      return socket;
    }
    failure = text(address.text(), ": ", system_reason(error));
  }
  return std::nullopt;
}

}  // namespace fleet::net
