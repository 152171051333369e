#include <fleet/strategy/dgc.hpp>

#include <fleet/core/random.hpp>
#include <fleet/strategy/clip_gradient_norm.hpp>
#include <fleet/strategy/gradient_merge.hpp>
#include <fleet/train/distribute.hpp>

#include "strategy/replayed.hpp"

namespace {

using test::Json;

fleet::DGC dgc_of(Json const& settings) {
  return {.rampup_begin_step = settings.at("rampup_begin_step"),
          .rampup_step = settings.at("rampup_step"),
          .sparsity = settings.at("sparsity"),
          .min_elements = settings.at("min_elements"),
          .clip_norm = settings.at("clip_norm").is_null() ? 0 : settings.at("clip_norm").get<float>()};
}

fleet::optim::Momentum momentum_of(Json const& settings) {
  return {.learning_rate = settings.at("learning_rate").get<float>(),
          .momentum = settings.at("momentum"),
          .nesterov = settings.at("nesterov"),
          .regularization = fleet::optim::L2{settings.at("weight_decay")}};
}

/// Replays a golden case on one worker.
void replay(fleet::Job& job, Json const& entry, test::Tolerance tolerance) {
  auto const dgc = dgc_of(entry.at("settings"));
  auto model = test::replay_of(entry.at("tensors"));
  auto trainer = fleet::distribute(job, model, momentum_of(entry.at("settings")), fleet::Strategy{dgc});
  auto const own = static_cast<std::size_t>(job.worker_index());
  for (std::size_t step = 0; step < entry.at("trace").size(); ++step) {
    auto const what = entry.at("name").get<std::string>() + ", step " + std::to_string(step);
    auto const& trace = entry.at("trace")[step];
    auto const sparsity = dgc.sparsity_at(trainer.updates());
    ASSERT_EQ(sparsity.has_value(), !trace.at("sparsity").is_null()) << what;
    if (sparsity) {
      EXPECT_DOUBLE_EQ(*sparsity, trace.at("sparsity").get<double>()) << what;
    }
    trainer.step(test::batch_of(entry.at("gradients")[step][own]));
    for (std::size_t i = 0; i < model.values.size(); ++i) {
      auto const u = test::saved(trainer, "strategy/DGC/velocity/" + model.names[i]);
      auto const v = test::saved(trainer, "strategy/DGC/residual/" + model.names[i]);
      test::expect_close(model.values[i], trace.at("parameters")[i], tolerance, what);
      test::expect_close(u, trace.at("u")[own][i], tolerance, what + ", velocity");
      test::expect_close(v, trace.at("v")[own][i], tolerance, what + ", residual");
      if (trace.at("k")[i].is_null()) continue;
      EXPECT_EQ(fleet::DGC::sent_of(model.values[i].size(), *sparsity), trace.at("k")[i]) << what;
      for (std::size_t place : trace.at("indices")[own][i]) EXPECT_EQ(v[place], 0) << what << ", element " << place;
    }
  }
}

TEST(DGC, FollowsTheGoldenTraces) {
  auto const file = test::golden("dgc.json");
  for (auto const& entry : file.at("cases"))
    test::run_workers(entry.at("workers"), [&](fleet::Job& job) { replay(job, entry, test::Tolerance{file}); });
}

/// Trains `steps` steps on gradients that depend on (worker, step, element); returns the parameters.
template <class... Policies>
std::vector<std::vector<float>> train(fleet::Job& job, std::size_t elements, int steps, bool nesterov,
                                      Policies const&... policies) {
  test::Replay model{{"w", "b", "none"}, {std::vector<float>(elements, 1), {2}, {}}};
  fleet::optim::Momentum const momentum{.learning_rate = 0.1f, .momentum = 0.9f, .nesterov = nesterov};
  auto trainer = fleet::distribute(job, model, momentum, fleet::Strategy{policies...});
  for (int step = 0; step < steps; ++step) {
    fleet::Random random = fleet::Random{7}.split(job.worker_index(), step);
    test::Replay::Batch batch{std::vector<float>(elements), {random.normal()}, {}};
    for (auto& gradient : batch[0]) gradient = random.normal();
    trainer.step(batch);
  }
  return model.values;
}

TEST(DGC, IsPlainMomentumOnOneWorker) {
  for (bool nesterov : {false, true})
    test::run_workers(1, [&](fleet::Job& job) {
      EXPECT_EQ(train(job, 50, 10, nesterov, fleet::DGC{.min_elements = 1}), train(job, 50, 10, nesterov));
    });
}

TEST(DGC, IsMomentumOnTheMeanBeforeItsBeginAndWhereEverythingIsSent) {
  for (bool nesterov : {false, true})
    for (int workers : {2, 3})
      test::run_workers(workers, [&](fleet::Job& job) {
        auto const plain = train(job, 50, 10, nesterov);
        for (auto const& dgc : {fleet::DGC{.rampup_begin_step = 100, .min_elements = 1},
                                fleet::DGC{.sparsity = {0}, .min_elements = 1}, fleet::DGC{.min_elements = 51}}) {
          auto const values = train(job, 50, 10, nesterov, dgc);
          for (std::size_t i = 0; i < 50; ++i) EXPECT_NEAR(values[0][i], plain[0][i], 1e-5);
          EXPECT_NEAR(values[1][0], plain[1][0], 1e-5);
        }
      });
}

TEST(DGC, CountsUpdatesNotMicroSteps) {
  test::run_workers(2, [](fleet::Job& job) {
    fleet::DGC const dgc{.rampup_begin_step = 2, .sparsity = {0.9f}, .min_elements = 1};
    auto const merged = train(job, 20, 4, false, dgc, fleet::GradientMerge<2>{});
    auto const dense = train(job, 20, 4, false, fleet::GradientMerge<2>{});
    for (std::size_t i = 0; i < 20; ++i) EXPECT_NEAR(merged[0][i], dense[0][i], 1e-5) << "two updates: both dense";
    EXPECT_NE(train(job, 20, 6, false, dgc, fleet::GradientMerge<2>{})[0],
              train(job, 20, 6, false, fleet::GradientMerge<2>{})[0]);
  });
}

TEST(DGC, AGradientThatOneWorkerLacksCountsAsZero) {
  auto const values = test::collect(2, [](fleet::Job& job) {
    test::Replay model{{"w", "idle"}, {{1, 1, 1, 1}, {5, 5}}};
    auto trainer = fleet::distribute(job, model, fleet::optim::Momentum{.learning_rate = 1.0f},
                                     fleet::Strategy{fleet::DGC{.sparsity = {0.5f}, .min_elements = 1}});
    trainer.step(job.worker_index() == 0 ? test::Replay::Batch{{4, 3, 2, 1}, {}} : test::Replay::Batch{{}, {}});
    return model.values;
  });
  EXPECT_EQ(values[0], values[1]);
  EXPECT_EQ(values[0][0], (std::vector<float>{-1, -0.5f, 1, 1}));
  EXPECT_EQ(values[0][1], (std::vector<float>{5, 5})) << "used by nobody";
}

TEST(DGC, GoesWithALimitOnTheGlobalNorm) {
  test::run_workers(2, [](fleet::Job& job) {
    auto const free = train(job, 30, 5, false, fleet::DGC{.min_elements = 1});
    EXPECT_EQ(train(job, 30, 5, false, fleet::DGC{.min_elements = 1}, fleet::ClipGradientNorm{1e6f}), free);
    EXPECT_NE(train(job, 30, 5, false, fleet::DGC{.min_elements = 1}, fleet::ClipGradientNorm{0.01f}), free);
  });
}

TEST(DGC, TheShareIsTakenAsWritten) {
  fleet::DGC const dgc{.rampup_step = 100, .sparsity = {0.75f, 0.9375f, 0.984375f, 0.996f, 0.99f}};
  EXPECT_EQ(dgc.sparsity_at(0), 0.75);
  EXPECT_EQ(dgc.sparsity_at(19), 0.75);
  EXPECT_EQ(dgc.sparsity_at(20), 0.9375);
  EXPECT_EQ(dgc.sparsity_at(1'000), 0.99);
  EXPECT_EQ(fleet::DGC::sent_of(1'000, *dgc.sparsity_at(1'000)), 10u);
  EXPECT_EQ(fleet::DGC::sent_of(5, 0.999), 1u);
}

TEST(DGC, RefusesValuesThatCannotWork) {
  EXPECT_THROW(fleet::Strategy{fleet::DGC{.rampup_begin_step = -1}}, fleet::ConfigurationError);
  EXPECT_THROW(fleet::Strategy{fleet::DGC{.rampup_step = 0}}, fleet::ConfigurationError);
  EXPECT_THROW((fleet::Strategy{fleet::DGC{.sparsity = {0.5f, 1}}}), fleet::ConfigurationError);
  EXPECT_THROW(fleet::Strategy{fleet::DGC{.sparsity = {-0.1f}}}, fleet::ConfigurationError);
  EXPECT_THROW(fleet::Strategy{fleet::DGC{.clip_norm = -1}}, fleet::ConfigurationError);
}

TEST(DGC, NotesWhereItDoesNotApply) {
  for (int workers : {1, 2})
    test::run_workers(workers, [&](fleet::Job& job) {
      test::Replay model{{"w"}, {{1}}};
      auto trainer = fleet::distribute(job, model, fleet::optim::Momentum{}, fleet::Strategy{fleet::DGC{}});
      ASSERT_FALSE(trainer.notes().empty());
      EXPECT_NE(trainer.notes()[0].find(workers == 1 ? "one worker" : "min_elements = 16384"), std::string::npos);
    });
}

}  // namespace
