#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <fleet/comm/communicator.hpp>
#include <fleet/core/error.hpp>
#include <fleet/tensor/shape.hpp>

namespace fleet::metrics {

/// A metric that no sample went into, on any worker; thrown on all workers alike.
class EmptyMetric : public ContractError {
 public:
  explicit EmptyMetric(std::string_view metric)
      : ContractError(text("fleet: ", metric, " has no value: no worker had a sample. Check the evaluation data")) {}
};

/// What outputs are compared with: one label a row, or targets of the outputs' shape. Any batch with `labels` and
/// `targets` is one.
struct Truth {
  std::span<std::int64_t const> labels{};
  std::span<float const> targets{};

  Truth(std::span<std::int64_t const> labels_, std::span<float const> targets_) : labels(labels_), targets(targets_) {}
  template <class Batch>
  requires requires(Batch const& batch) {
    { batch.labels.span() } -> std::convertible_to<std::span<std::int64_t const>>;
    { batch.targets.span() } -> std::convertible_to<std::span<float const>>;
  }
  Truth(Batch const& batch)  // NOLINT(google-explicit-constructor): a batch tells the truth
      : labels(batch.labels.span()), targets(batch.targets.span()) {}
};

/// The running value of a metric on one worker. `update` takes the outputs of some samples, of any number, also none;
/// `reduce` is called once, by every worker, after its last update, and joins the workers' samples, each counted
/// once; then `value` is the same on all workers. `update` throws ContractError for sizes that do not fit.
template <class S>
concept State = requires(S& state, S const& ready, std::span<float const> outputs, Shape const& shape, Truth truth,
                         comm::Communicator& workers) {
  state.update(outputs, shape, truth);
  state.reduce(workers);
  { ready.value() } -> std::convertible_to<double>;
};

/// A metric is a value that holds its settings; `start()` makes a State.
template <class M>
concept Metric = requires(M const& metric) {
  { metric.start() } -> State;
};

/// The metric of one set of outputs a worker, over all workers; called by every worker, and equal on each.
template <Metric M>
double measure(M const& metric, comm::Communicator& workers, std::span<float const> outputs, Shape const& shape,
               Truth truth) {
  auto state = metric.start();
  state.update(outputs, shape, truth);
  state.reduce(workers);
  return state.value();
}

namespace detail {

/// Refuses what would count samples twice.
class Once {
 public:
  void before_update(std::string_view metric) const {
    if (reduced_) throw ContractError(text("fleet: ", metric, " was reduced; start it again for other samples"));
  }
  void before_reduce(std::string_view metric) {
    before_update(metric);
    reduced_ = true;
  }

 private:
  bool reduced_ = false;
};

inline void check_count(std::string_view metric, std::string_view what, std::size_t count, Shape const& shape,
                        std::size_t expected) {
  if (count != expected)
    throw ContractError(text("fleet: ", metric, " of outputs of shape ", shape.text(), " needs ", expected, " ", what,
                             ", not ", count));
}

}  // namespace detail

}  // namespace fleet::metrics
