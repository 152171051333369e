#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <fleet/comm/communicator.hpp>
#include <fleet/core/config.hpp>
#include <fleet/tensor/parameter.hpp>

namespace fleet {

/// Checks at set-up that every worker lists the same parameters (names, shapes, flags) in the same order, and gives
/// all of them the values of the first worker. Throws ContractError on every worker, naming the first difference.
void agree_on_parameters(std::span<Parameter> parameters, comm::Communicator& workers);

/// What the workers tell each other at every reduction, in one small message: which parameters had a gradient, which
/// are frozen, and whether the worker had a batch at all.
class StepAgreement {
 public:
  StepAgreement(std::span<Parameter> parameters, comm::Communicator& workers);

  /// In: whether this worker used each parameter. Out: whether any did. Returns the number of workers that had a
  /// batch. Throws ContractError on every worker if a parameter is frozen on some workers only, naming both.
  int exchange(std::span<std::uint8_t> used, bool has_batch);

 private:
  [[noreturn]] void refuse_frozen(std::size_t parameter);

  std::span<Parameter> parameters_;
  comm::Communicator& workers_;
  std::vector<std::int32_t> flags_;
};

}  // namespace fleet

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/train/detail/agreement_impl.hpp>  // IWYU pragma: export
#endif
