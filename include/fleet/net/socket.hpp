#pragma once
#include <sys/uio.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <fleet/core/config.hpp>
#include <fleet/core/deadline.hpp>
#include <fleet/net/address.hpp>

namespace fleet::net {

/// A stream socket that never blocks and never raises SIGPIPE. Closed when it goes.
class Socket {
 public:
  enum class State : unsigned char { moved, would_block, closed };
  /// What a try has done: bytes moved; nothing possible now; or the connection is over, with an errno (0: orderly).
  struct Result {
    State state;
    std::size_t bytes = 0;
    int error = 0;
  };

  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Socket() { close(); }

  int descriptor() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }
  FLEET_BODY void close();
  FLEET_BODY SocketAddress peer() const;

  FLEET_BODY Result try_send(std::span<iovec const> pieces) const;
  FLEET_BODY Result try_receive(std::span<iovec const> pieces) const;

  /// Whole messages, for handshakes. False where the connection ended or the deadline passed before.
  FLEET_BODY bool send(std::span<std::byte const> bytes, Deadline deadline) const;
  FLEET_BODY bool receive(std::span<std::byte> bytes, Deadline deadline) const;

 private:
  int descriptor_ = -1;
};

/// A listening socket. Throws ConfigurationError with address, port and reason where it cannot listen there.
class Listener {
 public:
  FLEET_BODY explicit Listener(SocketAddress const& address);

  int descriptor() const { return socket_.descriptor(); }
  /// The address it has, with the port that the system chose if it was 0.
  SocketAddress const& address() const { return address_; }
  /// The next connection that waits, if there is one. Throws ConfigurationError at the limit of descriptors.
  FLEET_BODY std::optional<Socket> accept() const;

 private:
  Socket socket_;
  SocketAddress address_;
};

/// Tries all `addresses` in turn, once; `failure` gets the last reason. Throws ConfigurationError at the limit of
/// descriptors.
FLEET_BODY std::optional<Socket> connect(std::span<SocketAddress const> addresses, Deadline deadline,
                                         std::string& failure);

}  // namespace fleet::net

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/net/detail/socket_impl.hpp>  // IWYU pragma: export
#endif
