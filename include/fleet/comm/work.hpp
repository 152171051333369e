#pragma once
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

namespace fleet::comm {

/// An operation under way. Dropping it without `wait` is allowed only once it is done or its buffers may be lost.
class Work {
 public:
  /// What the engine keeps of it.
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
    std::exception_ptr error;

    void finish(std::exception_ptr failure = nullptr) {
      {
        std::lock_guard lock{mutex};
        done = true;
        error = std::move(failure);
      }
      changed.notify_all();
    }
  };

  Work() = default;
  explicit Work(std::shared_ptr<State> state) : state_(std::move(state)) {}

  /// Returns when the operation is complete; throws what it threw. Waiting again is harmless.
  void wait() {
    if (!state_) return;
    std::unique_lock lock{state_->mutex};
    state_->changed.wait(lock, [&] { return state_->done; });  // bounded: the engine ends every call by its deadline
    if (state_->error) std::rethrow_exception(state_->error);
  }

  bool done() const {
    if (!state_) return true;
    std::lock_guard lock{state_->mutex};
    return state_->done;
  }

 private:
  std::shared_ptr<State> state_;
};

}  // namespace fleet::comm
