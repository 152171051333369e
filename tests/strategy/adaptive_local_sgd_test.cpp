#include <fleet/strategy/adaptive_local_sgd.hpp>

#include <fleet/optim/sgd.hpp>
#include <fleet/train/archive.hpp>

#include "strategy/local_problem.hpp"

namespace {

template <class Trainer>
std::int64_t interval(Trainer& trainer) {
  fleet::SaveArchive archive;
  trainer.archive(archive);
  for (auto const& piece : archive.pieces()) {
    std::int64_t value = 0;
    if (piece.name != "strategy/AdaptiveLocalSGD/interval") continue;
    std::memcpy(&value, piece.bytes.data(), sizeof value);
    return value;
  }
  return -1;
}

TEST(AdaptiveLocalSGD, FollowsTheGoldenRuns) {
  auto const file = test::golden("adaptive_localsgd.json");
  for (auto const& entry : file.at("cases"))
    test::run_workers(entry.at("workers"), [&](fleet::Job& job) {
      auto const& settings = entry.at("settings");
      fleet::AdaptiveLocalSGD const policy{.init_k_steps = settings.at("init_k_steps"),
                                           .begin_step = settings.at("begin_step")};
      test::replay_local(job, entry, test::Tolerance{file}, policy, [&](std::size_t step, auto& trainer) {
        EXPECT_EQ(interval(trainer), entry.at("k")[step]) << entry.at("name") << ", step " << step + 1;
      });
    });
}

TEST(AdaptiveLocalSGD, AFirstLossOfZeroGivesAnIntervalOfOne) {
  test::run_workers(2, [](fleet::Job& job) {
    test::Replay model{{"w"}, {{0}}};
    auto trainer = fleet::distribute(job, model, fleet::optim::SGD{},
                                     fleet::Strategy{fleet::AdaptiveLocalSGD{.init_k_steps = 4, .begin_step = 0}});
    for (int step = 0; step < 4; ++step) trainer.step(test::Replay::Batch{{1}});
    EXPECT_EQ(interval(trainer), 1);
  });
}

TEST(AdaptiveLocalSGD, RefusesValuesThatCannotWork) {
  EXPECT_THROW(fleet::Strategy{fleet::AdaptiveLocalSGD{.init_k_steps = 0}}, fleet::ConfigurationError);
  EXPECT_THROW(fleet::Strategy{fleet::AdaptiveLocalSGD{.begin_step = -1}}, fleet::ConfigurationError);
}

}  // namespace
