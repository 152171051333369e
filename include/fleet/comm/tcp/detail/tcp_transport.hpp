#pragma once
#include <poll.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fleet/comm/tcp/detail/control.hpp>
#include <fleet/comm/tcp/detail/link.hpp>
#include <fleet/comm/transport.hpp>
#include <fleet/core/config.hpp>
#include <fleet/core/deadline.hpp>
#include <fleet/net/address.hpp>
#include <fleet/net/socket.hpp>
#include <fleet/net/token.hpp>

namespace fleet::comm::tcp {

/// What the ranks of a group, and of those split from it, need for making further connections.
struct Membership {
  net::Token token;
  std::string group;             ///< tells the group from others, with all splits that led to it
  net::SocketAddress address{};  ///< where this rank listens
  std::string advertised{};      ///< the host that the others connect to
  std::vector<int> labels{};     ///< of each member its rank in the first group
  bool may_spin = false;         ///< every rank of this host has a core
};

/// Ranks as processes that are joined by a full mesh of connections.
class TcpTransport final : public Transport {
 public:
  FLEET_BODY TcpTransport(int rank, Membership membership, std::vector<std::unique_ptr<Link>> links,
                          std::size_t piece_bytes);
  FLEET_BODY ~TcpTransport() override;

  std::string engine() const override { return "tcp"; }
  FLEET_BODY void begin(Frame const& call, Deadline deadline, bool eager) override;
  FLEET_BODY void end() override;
  FLEET_BODY void flow(Flow const& flow) override;
  FLEET_BODY void post(int to, std::span<std::byte const> data) override;
  FLEET_BODY void take(int from, std::span<std::byte> data) override;
  FLEET_BODY void refuse(std::uint64_t number, std::string const& why) override;
  [[noreturn]] FLEET_BODY void fail(TransportError::Cause cause, int guilty, int partner,
                                    std::string const& reason) override;
  FLEET_BODY void interrupt() override;
  FLEET_BODY void leave() override;
  FLEET_BODY std::unique_ptr<Transport> subgroup(std::span<int const> members) override;

 private:
  using Clock = Deadline::Clock;

  /// How often notices are looked for by a rank that never has to wait.
  static constexpr std::chrono::milliseconds listen_interval{20};

  static constexpr std::chrono::microseconds longest_spin{64}, shortest_spin{2};

  /// A piece that is coming in.
  struct Arrival {
    std::span<std::byte> room{}, missing{};
    bool open = false;
  };

  Link& link(int rank) { return *links_[static_cast<std::size_t>(rank)]; }
  FLEET_BODY std::string name(int rank) const;

  FLEET_BODY bool push(int to, Outgoing& piece);
  FLEET_BODY bool pull(Flow const& flow, Arrival& arrival, bool& done);
  /// Reads on in a message that nobody has asked for yet; false where no such thing can be read now.
  FLEET_BODY bool stash(int from);
  FLEET_BODY void check_message(int from, Frame const& header, std::size_t bytes);

  FLEET_BODY void moved();
  FLEET_BODY void rest(int in, int out);
  FLEET_BODY void pause(int in, int out);
  FLEET_BODY void poll(int in, int out, int timeout);
  FLEET_BODY void tell_whom_we_wait_for(int other, bool asks, int only = -1);
  [[noreturn]] FLEET_BODY void expire(int other);

  FLEET_BODY void listen(int from);
  FLEET_BODY void heed(int from, ControlHeader const& header, std::string const& text);
  FLEET_BODY void compare_calls(int other);
  FLEET_BODY void tell(int to, ControlHeader const& header, std::string_view text);
  FLEET_BODY void flush(Link& link);
  FLEET_BODY void tell_all(ControlHeader const& header, std::string_view text);

  /// Ends the call as another rank's notice says.
  [[noreturn]] FLEET_BODY void pass_on_failure();
  [[noreturn]] FLEET_BODY void lost(int other, int error);
  [[noreturn]] FLEET_BODY void mismatch(int other, Frame const& theirs);
  [[noreturn]] FLEET_BODY void refused(int by, std::string const& why);
  [[noreturn]] FLEET_BODY void end_call(TransportError::Cause cause, int peer, std::string const& reason) const;

  Membership membership_;
  std::vector<std::unique_ptr<Link>> links_;  // by rank; none for this one
  std::deque<Message> own_messages_;          // from this rank to itself
  std::vector<pollfd> polled_;
  int wake_ = -1;
  std::atomic<bool> interrupted_ = false;
  bool failed_ = false;
  std::optional<std::pair<ControlHeader, std::string>> later_failure_;  // another rank's, not thrown here yet
  std::map<std::uint64_t, std::string> refused_;                        // by this rank
  std::mutex control_mutex_;  // of what goes out on the control connections, and of refused_

  // Of the call under way.
  Frame call_{};
  Deadline deadline_{Clock::time_point{}};
  bool eager_ = false, in_call_ = false, announced_ = false;
  int waits_for_ = -1;
  std::optional<Deadline> grace_;  // set when the deadline has passed
  Clock::time_point started_{}, idle_since_{}, listened_{};
  std::chrono::microseconds spin_ = longest_spin;  // how long to try without sleeping: less where it was in vain
};

}  // namespace fleet::comm::tcp

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/comm/tcp/detail/tcp_transport_impl.hpp>  // IWYU pragma: export
#include <fleet/comm/tcp/detail/tcp_watch_impl.hpp>      // IWYU pragma: export
#endif
