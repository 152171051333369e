#include <fleet/strategy/strategy.hpp>

#include <gtest/gtest.h>

#include <fleet/optim/sgd.hpp>
#include <fleet/strategy/clip_gradient_norm.hpp>
#include <fleet/strategy/clip_gradient_value.hpp>
#include <fleet/strategy/fuse_all_reduce.hpp>
#include <fleet/strategy/gradient_merge.hpp>
#include <fleet/train/distribute.hpp>

#include "support/workers.hpp"

namespace {

using Log = std::vector<std::string>;

template <fleet::Phase at>
struct Noted {
  Log* log;
  std::string name;
  static constexpr fleet::Phase phase = at;
  void begin_step(fleet::Step&) { log->push_back(name + " begin"); }
  void gradient_ready(fleet::Step&, fleet::Parameter& p) { log->push_back(name + " ready " + p.name); }
  void before_update(fleet::Step&) { log->push_back(name + " before"); }
  void update(fleet::Step&, fleet::Parameter&, fleet::NextUpdate next) {
    log->push_back(name + " in");
    next();
    log->push_back(name + " out");
  }
  void after_update(fleet::Step&) { log->push_back(name + " after"); }
};

TEST(Strategy, RunsHooksInTheOrderOfPhasesWhateverTheOrderOfTheList) {
  using Late = Noted<fleet::Phase::clip>;
  using Early = Noted<fleet::Phase::accumulate>;
  auto const run = [](auto make) {
    Log log;
    test::run_workers(1, [&](fleet::Job& job) {
      test::Replay model{{"w"}, {{1}}};
      auto trainer = fleet::distribute(job, model, fleet::optim::SGD{.learning_rate = 1.0f}, make(&log));
      trainer.step(test::Replay::Batch{{2}});
      EXPECT_EQ(model.values[0][0], -1);
    });
    return log;
  };
  Log const expected{"a begin", "b begin", "a ready w", "b ready w", "a before", "b before",
                     "a in",    "b in",    "b out",     "a out",     "a after",  "b after"};
  EXPECT_EQ(run([](Log* log) { return fleet::Strategy{Late{log, "b"}, Early{log, "a"}}; }), expected);
  EXPECT_EQ(run([](Log* log) { return fleet::Strategy{Early{log, "a"}, Late{log, "b"}}; }), expected);
}

TEST(Strategy, NamesItsPolicies) {
  EXPECT_EQ((fleet::Strategy<fleet::GradientMerge<4>, fleet::ClipGradientNorm>::text()),
            "Strategy<GradientMerge<4>, ClipGradientNorm>");
  EXPECT_EQ(fleet::Strategy<>::text(), "Strategy<>");
}

TEST(Strategy, GivesTheSettingsThatItWasMadeWith) {
  fleet::Strategy const strategy{fleet::FuseAllReduce{.megabytes = 16, .layers = 50}};
  EXPECT_EQ(strategy.settings<fleet::FuseAllReduce>().megabytes, 16);
  EXPECT_EQ(fleet::Strategy<>{}.settings<fleet::FuseAllReduce>().megabytes, 32);
}

template <class Policy>
std::string refusal(Policy policy) {
  try {
    fleet::Strategy{policy};
  } catch (fleet::ConfigurationError const& error) {
    return error.what();
  }
  return "taken";
}

TEST(Strategy, RefusesSettingsThatCannotWorkNamingFieldValueAndRange) {
  EXPECT_EQ(refusal(fleet::FuseAllReduce{.megabytes = -1}),
            "fleet: FuseAllReduce.megabytes is -1; give 0 (no fusion) or a positive number of 2^20 bytes");
  EXPECT_NE(refusal(fleet::FuseAllReduce{.megabytes = std::nan("")}), "taken");
  EXPECT_EQ(refusal(fleet::FuseAllReduce{.layers = 0}), "fleet: FuseAllReduce.layers is 0; give at least 1");
  EXPECT_EQ(refusal(fleet::ClipGradientNorm{0}), "fleet: ClipGradientNorm.threshold is 0; give a number above 0");
  EXPECT_NE(refusal(fleet::ClipGradientNorm{std::nanf("")}), "taken");
  EXPECT_NE(refusal(fleet::ClipGradientValue{.lower = 1, .upper = 0}), "taken");
  EXPECT_EQ(refusal(fleet::FuseAllReduce{.megabytes = 0}), "taken");
}

}  // namespace
