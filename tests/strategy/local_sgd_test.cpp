#include <fleet/strategy/local_sgd.hpp>

#include <fleet/optim/sgd.hpp>

#include "strategy/local_problem.hpp"

namespace {

TEST(LocalSGD, FollowsTheGoldenRuns) {
  auto const file = test::golden("localsgd.json");
  for (auto const& entry : file.at("cases"))
    test::run_workers(entry.at("workers"), [&](fleet::Job& job) {
      auto const& settings = entry.at("settings");
      fleet::LocalSGD const policy{.k_steps = settings.at("k_steps"), .begin_step = settings.at("begin_step")};
      test::replay_local(job, entry, test::Tolerance{file}, policy, [](auto, auto&) {});
    });
}

TEST(LocalSGD, AveragesEveryTensorToTheSameBitsAndLeavesFrozenOnesAlone) {
  for (int workers : {2, 3}) {
    auto const values = test::collect(workers, [](fleet::Job& job) {
      test::Replay model{{"a", "empty", "long", "frozen"}, {{1}, {}, std::vector<float>(70'000, 0.1f), {0.3f}}};
      struct Frozen : test::Replay {
        std::vector<fleet::Parameter> parameters() {
          auto list = test::Replay::parameters();
          list[3].trainable = false;
          return list;
        }
      } frozen{model};
      auto trainer = fleet::distribute(job, frozen, fleet::optim::SGD{.learning_rate = 1.0f},
                                       fleet::Strategy{fleet::LocalSGD{.k_steps = 2, .begin_step = 0}});
      auto const own = static_cast<float>(job.worker_index());
      test::Replay::Batch const batch{{own}, {}, std::vector<float>(70'000, own / 3), {9}};
      for (int step = 0; step < 2; ++step) trainer.step(batch);
      return frozen.values;
    });
    for (auto const& rank : values) EXPECT_EQ(rank, values[0]);
    auto const mean = static_cast<float>(workers - 1) / 2;
    EXPECT_FLOAT_EQ(values[0][0][0], 1 - 2 * mean);
    EXPECT_EQ(values[0][3][0], 0.3f);
  }
}

TEST(LocalSGD, RefusesValuesThatCannotWork) {
  EXPECT_THROW(fleet::Strategy{fleet::LocalSGD{.k_steps = 0}}, fleet::ConfigurationError);
  EXPECT_THROW(fleet::Strategy{fleet::LocalSGD{.begin_step = -1}}, fleet::ConfigurationError);
}

}  // namespace
