#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include <fleet/core/text.hpp>

namespace fleet {

/// Base of everything that fleet throws. The text says what failed, on which rank, against whom, and what to do.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The program breaks the contract of a call: shapes that do not fit, a range left, calls out of order.
class ContractError : public Error {
 public:
  using Error::Error;
};

/// A setting, an option or an environment variable cannot work; the text names it, its value and the range.
class ConfigurationError : public Error {
 public:
  using Error::Error;
};

/// A file holds something else than its format promises; the text names the file and the place in it.
class DataError : public Error {
 public:
  using Error::Error;
};

/// A checkpoint is cut short, damaged, mixed, or of another model; the text names the file and what is wrong.
class CheckpointError : public Error {
 public:
  using Error::Error;
};

/// A peer is lost, late, out of step or a stranger. After it the communicator is broken: make a new one.
class TransportError : public Error {
 public:
  enum class Cause : std::uint8_t {
    lost,      ///< its connection broke: the process ended or the network failed
    silent,    ///< not heard from within the deadline
    left,      ///< it took its leave while others still waited for it
    mismatch,  ///< it called another operation, size, dtype or call number
    refused,   ///< it could not be reached, or failed to prove the job's token
    aborted,   ///< it met an error of its own and said so
  };

  TransportError(Cause cause, int peer, std::string operation, std::string const& message)
      : Error(message), cause_(cause), peer_(peer), operation_(std::move(operation)) {}

  Cause cause() const noexcept { return cause_; }
  /// The guilty rank, or -1 where none can be named.
  int peer() const noexcept { return peer_; }
  /// The operation that failed, such as "all_reduce".
  std::string const& operation() const noexcept { return operation_; }

 private:
  Cause cause_;
  int peer_;
  std::string operation_;
};

}  // namespace fleet
