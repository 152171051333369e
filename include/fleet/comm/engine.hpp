#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <fleet/comm/communicator.hpp>
#include <fleet/comm/frame.hpp>
#include <fleet/comm/transport.hpp>
#include <fleet/core/checks.hpp>
#include <fleet/core/config.hpp>
#include <fleet/core/function_ref.hpp>

namespace fleet::comm {

/// A communicator over any transport: checks and counts the calls and brings them into one order. A blocking call runs
/// on the caller's thread unless others wait before it; what `start` gets runs on one communication thread.
class Engine final : public Communicator {
 public:
  FLEET_BODY Engine(std::unique_ptr<Transport> transport, std::chrono::milliseconds timeout, CheckLevel checks);
  /// Ends what is under way with an error, takes leave of the others, and never waits for them.
  FLEET_BODY ~Engine() override;

  std::string engine() const override { return transport_->engine(); }
  Counters counters() const override { return {operations_.load(), bytes_.load()}; }
  FLEET_BODY std::shared_ptr<Communicator> split(int colour, int key) override;
  FLEET_BODY void run(Call const& call) override;
  FLEET_BODY Work start(Call const& call) override;

 private:
  using Body = FunctionRef<void()>;

  struct Task {
    Call call;
    std::uint64_t number = 0;
    std::chrono::milliseconds timeout{};
    Body const* body = nullptr;  // what to do, where it is not to perform the call
    std::shared_ptr<Work::State> state{};
  };

  FLEET_BODY Task admit(Call const& call);
  FLEET_BODY void submit(Call const& call, Body const* body);
  FLEET_BODY Work enqueue(Task task);
  FLEET_BODY void execute(Task const& task, bool eager);
  FLEET_BODY void compare(Frame const& own, Deadline deadline, bool eager);
  FLEET_BODY void serve();

  std::unique_ptr<Transport> transport_;
  CheckLevel checks_;
  std::vector<Frame> frames_;  // of all ranks, where they are compared
  std::atomic<std::uint64_t> operations_ = 0, bytes_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> queue_;
  std::uint64_t number_ = 0;
  bool busy_ = false, stopping_ = false;
  std::exception_ptr broken_;
  std::thread thread_;
};

}  // namespace fleet::comm

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/comm/detail/engine_impl.hpp>  // IWYU pragma: export
#endif
