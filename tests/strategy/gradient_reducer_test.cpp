#include <fleet/strategy/gradient_reducer.hpp>

#include <gtest/gtest.h>

#include <fleet/core/random.hpp>
#include <fleet/strategy/fuse_all_reduce.hpp>

#include "support/workers.hpp"

namespace {

using Vectors = std::vector<std::vector<float>>;

/// The summed gradients of one worker for these limits; every element is drawn from (rank, position).
struct Reduced {
  Vectors gradients;
  fleet::ReductionCounters counters;
};

Reduced reduce(fleet::Job& job, std::vector<std::size_t> const& sizes, fleet::BucketLimits limits,
               std::vector<std::size_t> order = {}) {
  test::Replay model{std::vector<std::string>(sizes.size(), "p"), Vectors(sizes.size())};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    model.values[i].resize(sizes[i]);
    auto random = fleet::Random{7}.split(job.worker_index(), i);
    model.gradients[i].resize(sizes[i]);
    for (auto& element : model.gradients[i]) element = random.normal();
  }
  auto parameters = model.parameters();
  fleet::GradientReducer reducer{parameters, job.communicator(), limits};
  reducer.begin();
  for (std::size_t i = 0; i < sizes.size(); ++i) reducer.ready(order.empty() ? i : order[i]);
  reducer.finish();
  return {model.gradients, reducer.counters()};
}

TEST(GradientReducer, FusionChangesNoBitOnTwoWorkers) {
  std::vector<std::size_t> const sizes{1, 250000, 3, 749999};
  std::uint64_t const total = 4 * 1000003;
  auto const unfused = test::collect(2, [&](auto& job) { return reduce(job, sizes, {.bytes = 0}); });
  for (std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{4}, total - 1, total, total + 1, std::uint64_t{1} << 40})
    for (auto const& rank : test::collect(2, [&](auto& job) { return reduce(job, sizes, {.bytes = bytes}); }))
      EXPECT_EQ(rank.gradients, unfused[0].gradients) << bytes;
  EXPECT_EQ(unfused[0].gradients, unfused[1].gradients);
}

TEST(GradientReducer, TellsItsMessages) {
  fleet::FuseAllReduce const one_mebibyte{.megabytes = 1};
  auto const ranks = test::collect(2, [&](auto& job) {
    return reduce(job, {104858, 104858, 104858}, one_mebibyte.limits());
  });
  EXPECT_EQ(ranks[0].counters.message_bytes, (std::vector<std::uint64_t>{838864, 419432}));
  EXPECT_EQ(ranks[0].counters.messages, 2u);
  EXPECT_EQ(ranks[0].counters.bytes, 1258296u);
}

TEST(GradientReducer, PairsByIdentityWhateverTheOrderOnEachRank) {
  for (std::uint64_t bytes : {1u, 1u << 20}) {
    auto const ranks = test::collect(2, [&](auto& job) {
      return reduce(job, {4, 4, 4}, {.bytes = bytes},
                    job.worker_index() == 0 ? std::vector<std::size_t>{0, 1, 2} : std::vector<std::size_t>{2, 0, 1});
    });
    auto const in_order = test::collect(2, [&](auto& job) { return reduce(job, {4, 4, 4}, {.bytes = 0}); });
    EXPECT_EQ(ranks[0].gradients, in_order[0].gradients);
    EXPECT_EQ(ranks[1].gradients, in_order[0].gradients);
  }
}

TEST(GradientReducer, ReducesInPlaceWhereGradientsLieSideBySide) {
  test::run_workers(2, [](fleet::Job& job) {
    std::vector<float> values(6), gradients{1, 2, 3, 4, 5, 6};
    std::vector<fleet::Parameter> parameters;
    for (std::size_t i : {2u, 1u, 0u})  // laid from the last to the first, as a backward pass ends them
      parameters.emplace_back("p", std::span{values}.subspan(2 * i, 2), std::span{gradients}.subspan(2 * i, 2));
    fleet::GradientReducer reducer{parameters, job.communicator(), {}};
    reducer.begin();
    for (std::size_t i : {2u, 1u, 0u}) reducer.ready(i);
    reducer.finish();
    EXPECT_EQ(gradients, (std::vector<float>{2, 4, 6, 8, 10, 12}));
    EXPECT_EQ(reducer.counters().bytes_copied, 0u);
    EXPECT_EQ(reducer.counters().messages, 1u);
  });
}

TEST(GradientReducer, PairsByIdentityWhereWorkersLayTheirGradientsDifferently) {
  test::run_workers(2, [](fleet::Job& job) {
    bool const first = job.worker_index() == 0;  // one lays a before b, the other b before a
    std::vector<float> values(4),
        gradients = first ? std::vector<float>{1, 1, 10, 10} : std::vector<float>{30, 30, 3, 3};
    auto const part = [&](bool front) {
      std::size_t const at = front == first ? 0 : 2;
      return fleet::Parameter{"p", std::span{values}.subspan(at, 2), std::span{gradients}.subspan(at, 2)};
    };
    std::vector<fleet::Parameter> parameters{part(true), part(false)};
    fleet::GradientReducer reducer{parameters, job.communicator(), {}};
    reducer.begin();
    reducer.ready(1);
    reducer.ready(0);
    reducer.finish();
    EXPECT_EQ(parameters[0].gradient[1], 4);
    EXPECT_EQ(parameters[1].gradient[0], 40);
    EXPECT_EQ(reducer.counters().messages, 1u);
  });
}

}  // namespace
