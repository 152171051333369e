#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include <fleet/comm/engine.hpp>
#include <fleet/comm/perform.hpp>
#include <fleet/comm/ring.hpp>
#include <fleet/core/error.hpp>
#include <fleet/core/thread.hpp>

namespace fleet::comm {

FLEET_BODY Engine::Engine(std::unique_ptr<Transport> transport, std::chrono::milliseconds timeout, CheckLevel checks)
    : Communicator(transport->rank(), transport->size()), transport_(std::move(transport)), checks_(checks) {
  set_timeout(timeout);
}

FLEET_BODY Engine::~Engine() {
  {
    std::lock_guard lock{mutex_};
    stopping_ = true;
    if (busy_) transport_->interrupt();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  transport_->leave();
}

FLEET_BODY Engine::Task Engine::admit(Call const& call) {
  if (broken_) std::rethrow_exception(broken_);
  bool const message = call.operation == Operation::send || call.operation == Operation::receive;
  std::uint64_t const number = message ? number_ : ++number_;
  try {
    check_call(call, rank(), size());
  } catch (ContractError const& error) {
    if (!message) transport_->refuse(number, error.what());
    throw;
  }
  constexpr std::chrono::milliseconds longest = std::chrono::hours{24 * 365};
  return {.call = call, .number = number, .timeout = std::min(call.timeout.value_or(timeout()), longest)};
}

FLEET_BODY void Engine::run(Call const& call) { submit(call, nullptr); }

FLEET_BODY void Engine::submit(Call const& call, Body const* body) {
  std::unique_lock lock{mutex_};
  auto task = admit(call);
  task.body = body;
  if (busy_ || !queue_.empty()) {
    auto work = enqueue(std::move(task));
    lock.unlock();
    return work.wait();
  }
  busy_ = true;
  lock.unlock();
  std::exception_ptr error;
  try {
    execute(task, true);
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  busy_ = false;
  bool const waiting = !queue_.empty();
  lock.unlock();
  if (waiting) changed_.notify_all();
  if (error) std::rethrow_exception(error);
}

FLEET_BODY Work Engine::start(Call const& call) {
  std::lock_guard lock{mutex_};
  return enqueue(admit(call));
}

FLEET_BODY Work Engine::enqueue(Task task) {
  if (!thread_.joinable()) thread_ = start_thread("the calls that a communicator runs aside", [this] { serve(); });
  task.state = std::make_shared<Work::State>();
  Work work{task.state};
  queue_.push_back(std::move(task));
  changed_.notify_all();
  return work;
}

FLEET_BODY void Engine::serve() {
  std::unique_lock lock{mutex_};
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || (!busy_ && !queue_.empty()); });
    if (stopping_) break;
    auto const task = std::move(queue_.front());
    queue_.pop_front();
    busy_ = true;
    lock.unlock();
    std::exception_ptr error;
    try {
      execute(task, false);
    } catch (...) {
      error = std::current_exception();
    }
    task.state->finish(error);
    lock.lock();
    busy_ = false;
  }
  auto const error = std::make_exception_ptr(ContractError(
      text("fleet: the communicator of rank ", rank(), " was destroyed before a call that it was given had run")));
  for (auto& task : queue_) task.state->finish(error);
  queue_.clear();
}

FLEET_BODY void Engine::execute(Task const& task, bool eager) {
  {
    std::lock_guard lock{mutex_};
    if (broken_) std::rethrow_exception(broken_);
  }
  auto const frame = frame_of(task.call, task.number);
  auto const deadline = Deadline::after(task.timeout);
  try {
    if (checks_ == CheckLevel::collective && frame.kind == FrameKind::collective && size() > 1)
      compare(frame, deadline, eager);
    transport_->begin(frame, deadline, eager);
    if (task.body)
      (*task.body)();
    else
      perform(*transport_, task.call);
    transport_->end();
  } catch (...) {
    auto error = std::current_exception();
    try {
      std::rethrow_exception(error);
    } catch (TransportError const&) {
    } catch (std::exception const& own) {
      try {
        transport_->fail(TransportError::Cause::aborted, rank(), rank(), own.what());
      } catch (TransportError const&) {  // the others know now; here the cause itself is thrown
      }
    }
    std::lock_guard lock{mutex_};
    broken_ = error;
    throw;
  }
  operations_.fetch_add(1, std::memory_order_relaxed);
  bytes_.fetch_add(std::max(task.call.input.size(), task.call.output.size()), std::memory_order_relaxed);
}

FLEET_BODY void Engine::compare(Frame const& own, Deadline deadline, bool eager) {
  auto const ranks = static_cast<std::size_t>(size()), here = static_cast<std::size_t>(rank());
  frames_.resize(ranks);
  frames_[here] = own;
  transport_->begin({.operation = Operation::barrier, .kind = FrameKind::check, .root = -1, .number = own.number},
                    deadline, eager);
  auto const bytes = std::as_writable_bytes(std::span{frames_});
  ring_all_gather(*transport_, bytes, Partition{bytes.size(), ranks}, DType::uint8);
  // Of the calls that differ, the one that most ranks made is taken for right.
  auto const makers = [&](Frame const& call) {
    return std::count_if(frames_.begin(), frames_.end(), [&](auto const& other) { return same_call(other, call); });
  };
  auto const right = std::max_element(frames_.begin(), frames_.end(),
                                      [&](auto const& a, auto const& b) { return makers(a) < makers(b); });
  auto const wrong = std::find_if(frames_.begin(), frames_.end(), [&](auto const& a) { return !same_call(a, *right); });
  if (wrong != frames_.end()) {
    int const guilty = static_cast<int>(wrong - frames_.begin()), partner = static_cast<int>(right - frames_.begin());
    transport_->fail(TransportError::Cause::mismatch, guilty, partner,
                     text("rank ", guilty, " called ", describe(*wrong), "; rank ", partner, " called ",
                          describe(*right), "; all ranks must make the same calls in the same order"));
  }
  transport_->end();
}

FLEET_BODY std::shared_ptr<Communicator> Engine::split(int colour, int key) {
  struct Wish {
    std::int32_t colour, key;
  };
  std::vector<Wish> wishes(static_cast<std::size_t>(size()));
  wishes[static_cast<std::size_t>(rank())] = {colour, key};
  std::unique_ptr<Transport> child;
  auto const body = [&] {
    auto const bytes = std::as_writable_bytes(std::span{wishes});
    if (size() > 1) ring_all_gather(*transport_, bytes, Partition{bytes.size(), wishes.size()}, DType::uint8);
    std::vector<int> members;
    for (int other = 0; other < size(); ++other)
      if (wishes[static_cast<std::size_t>(other)].colour == colour) members.push_back(other);
    std::stable_sort(members.begin(), members.end(), [&](int a, int b) {
      return wishes[static_cast<std::size_t>(a)].key < wishes[static_cast<std::size_t>(b)].key;
    });
    child = transport_->subgroup(members);
  };
  Body const reference{body};
  submit({.operation = Operation::split}, &reference);
  return std::make_shared<Engine>(std::move(child), timeout(), checks_);
}

}  // namespace fleet::comm
