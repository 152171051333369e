#pragma once
#include <fleet/core/function_ref.hpp>

namespace fleet::comm::shm {

/// Knows whether other ranks can still be waited for. Whoever waits asks now and then.
class Liveness {
 public:
  virtual ~Liveness() = default;
  Liveness(Liveness const&) = delete;
  Liveness& operator=(Liveness const&) = delete;

  /// Throws TransportError where the group is broken, or where rank `other` has gone and what is waited for is not
  /// `satisfied` even then.
  virtual void check(int other, FunctionRef<bool()> satisfied) = 0;
  /// The time for waiting for rank `other` is over: finds out who is to blame, tells the others, and throws.
  [[noreturn]] virtual void expired(int other) = 0;

 protected:
  Liveness() = default;
};

}  // namespace fleet::comm::shm
