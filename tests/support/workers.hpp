#pragma once
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <fleet/comm/local/local.hpp>
#include <fleet/job/job.hpp>
#include <fleet/tensor/backward.hpp>
#include <fleet/tensor/parameter.hpp>

namespace test {

/// The job of one rank of a group of threads.
inline fleet::Job job_of(fleet::comm::Communicator& communicator) {
  fleet::Role role;
  role.index = role.local_index = communicator.rank();
  role.worker_num = role.local_num = communicator.size();
  role.source = "test";
  return {role, std::shared_ptr<fleet::comm::Communicator>(&communicator, [](auto*) {})};
}

/// Runs `body(job)` on `workers` threads, one a rank; throws what the first of them throws, once all have ended.
template <class Body>
void run_workers(int workers, Body&& body) {
  fleet::comm::local::run(workers, [&](fleet::comm::Communicator& communicator) {
    auto job = job_of(communicator);
    body(job);
  });
}

/// Runs `body(job) -> result` on each rank and returns the results in rank order.
template <class Body>
auto collect(int workers, Body&& body) {
  using Result = decltype(body(std::declval<fleet::Job&>()));
  std::vector<Result> results(static_cast<std::size_t>(workers));
  run_workers(workers, [&](fleet::Job& job) { results[static_cast<std::size_t>(job.worker_index())] = body(job); });
  return results;
}

/// A model whose gradients are given: each batch is one list of values a parameter; an empty list leaves the
/// parameter out of the pass.
struct Replay {
  using Batch = std::vector<std::vector<float>>;

  std::vector<std::string> names;
  std::vector<std::vector<float>> values, gradients;
  float loss = 0;

  Replay(std::vector<std::string> names_, std::vector<std::vector<float>> values_)
      : names(std::move(names_)), values(std::move(values_)), gradients(values) {}

  std::vector<fleet::Parameter> parameters() {
    std::vector<fleet::Parameter> list;
    for (std::size_t i = 0; i < values.size(); ++i) list.emplace_back(names[i], values[i], gradients[i]);
    return list;
  }

  float forward_backward(Batch const& batch, fleet::GradientReady ready) {
    for (std::size_t i = batch.size(); i-- > 0;) {
      if (batch[i].empty() && !values[i].empty()) continue;
      gradients[i].assign(batch[i].begin(), batch[i].end());
      ready(i);
    }
    return loss;
  }
};

}  // namespace test
