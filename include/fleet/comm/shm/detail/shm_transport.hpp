#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <fleet/comm/shm/detail/board.hpp>
#include <fleet/comm/shm/detail/collectives.hpp>
#include <fleet/comm/shm/detail/mailbox.hpp>
#include <fleet/comm/shm/detail/processes.hpp>
#include <fleet/comm/shm/detail/segment.hpp>
#include <fleet/comm/shm/detail/waiter.hpp>
#include <fleet/comm/shm/detail/watch.hpp>
#include <fleet/comm/transport.hpp>
#include <fleet/core/config.hpp>
#include <fleet/core/deadline.hpp>

namespace fleet::comm::shm {

/// One rank's place in a segment that all ranks of the group have opened.
class ShmTransport final : public Transport {
 public:
  /// `crowded`: the host has more ranks than cores for them.
  FLEET_BODY ShmTransport(std::shared_ptr<Segment> segment, int rank, std::shared_ptr<Processes const> processes,
                          bool crowded);

  std::string engine() const override { return "shm"; }
  FLEET_BODY void begin(Frame const& call, Deadline deadline, bool eager) override;
  FLEET_BODY void end() override;
  FLEET_BODY bool perform(Call const& call) override;
  FLEET_BODY void flow(Flow const& flow) override;
  FLEET_BODY void post(int to, std::span<std::byte const> data) override;
  FLEET_BODY void take(int from, std::span<std::byte> data) override;
  void refuse(std::uint64_t number, std::string const& why) override { watch_.refuse(number, why); }
  [[noreturn]] void fail(TransportError::Cause cause, int guilty, int partner, std::string const& reason) override {
    watch_.fail(cause, guilty, partner, reason);
  }
  void interrupt() override { watch_.interrupt(); }
  void leave() override { watch_.leave(); }
  FLEET_BODY std::unique_ptr<Transport> subgroup(std::span<int const> members) override;

 private:
  std::shared_ptr<Segment> segment_;
  std::shared_ptr<Processes const> processes_;
  bool crowded_;
  Watch watch_;
  Mailbox mailbox_;
  Waiter waiter_;
  Board board_;
  Collectives collectives_;
};

}  // namespace fleet::comm::shm

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/comm/shm/detail/shm_transport_impl.hpp>  // IWYU pragma: export
#endif
