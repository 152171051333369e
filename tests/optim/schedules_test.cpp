#include <fleet/optim/schedules.hpp>

#include <map>

#include "support/golden.hpp"

namespace {

namespace optim = fleet::optim;
using optim::LearningRate;

LearningRate schedule(test::Json const& json) {
  auto const rate = json.value("learning_rate", 0.0);
  auto const steps = [&](char const* name) { return json.at(name).get<std::int64_t>(); };
  auto const real = [&](char const* name) { return json.at(name).get<double>(); };
  auto const flag = [&](char const* name) { return json.at(name).get<bool>(); };
  std::map<std::string, std::function<LearningRate()>> const kinds{
      {"constant", [&] { return optim::Constant{rate}; }},
      {"piecewise",
       [&] {
         return optim::Piecewise{json.at("boundaries"), json.at("values")};
       }},
      {"step",
       [&] {
         return optim::Step{rate, steps("step_size"), real("gamma")};
       }},
      {"exponential",
       [&] {
         return optim::Exponential{rate, steps("decay_steps"), real("decay_rate"), flag("staircase")};
       }},
      {"polynomial",
       [&] {
         return optim::Polynomial{rate, steps("decay_steps"), real("end_learning_rate"), real("power"), flag("cycle")};
       }},
      {"cosine",
       [&] {
         return optim::Cosine{rate, steps("t_max"), real("minimum")};
       }},
      {"cosine_epochs",
       [&] {
         return optim::CosineEpochs{rate, steps("steps_per_epoch"), steps("epochs")};
       }},
      {"linear_warmup",
       [&] {
         return optim::LinearWarmup{.warmup_steps = steps("warmup_steps"),
                                    .start = real("start"),
                                    .end = real("end"),
                                    .after = schedule(json.at("after")),
                                    .restart_after = flag("restart_after")};
       }},
      {"linear_warmup_decay",
       [&] {
         return optim::LinearWarmupDecay{rate, steps("warmup_steps"), steps("total_steps")};
       }},
      {"noam",
       [&] {
         return optim::Noam{rate, steps("d_model"), steps("warmup_steps")};
       }},
  };
  return kinds.at(json.at("kind"))();
}

TEST(Schedules, GiveTheGoldenRates) {
  auto const file = test::golden("lr_schedules.json");
  for (auto const& entry : file.at("cases")) {
    auto const rate = schedule(entry.at("schedule"));
    std::vector<float> rates;
    for (std::size_t t = 0; t < entry.at("rates").size(); ++t) rates.push_back(rate.at(static_cast<std::int64_t>(t)));
    test::expect_close(rates, entry.at("rates"), test::Tolerance{file}, entry.at("name"));
  }
}

TEST(Schedules, ANumberIsARate) {
  EXPECT_EQ(LearningRate{0.25}.at(7), 0.25f);
  EXPECT_EQ(LearningRate{1}.at(0), 1.0f);
}

struct Halving {
  double at(std::int64_t t) const { return 1.0 / static_cast<double>(t + 1); }
};

TEST(Schedules, ATypeWithAtIsARate) {
  LearningRate const rate = Halving{};
  LearningRate const copy = rate;
  EXPECT_EQ(copy.at(3), 0.25f);
}

TEST(Schedules, AnErrorNamesScheduleFieldValueAndRange) {
  auto const message = [](auto const& bad) {
    try {
      LearningRate rate = bad;
    } catch (fleet::ConfigurationError const& error) {
      return std::string{error.what()};
    }
    return std::string{};
  };
  EXPECT_EQ(message(optim::Cosine{.t_max = 0}),
            "fleet: optim::Cosine has t_max = 0; it must be at least 1. Change .t_max");
  EXPECT_NE(message(optim::Piecewise{{1, 2}, {0.1, 0.2}}).find("Piecewise has values = 2"), std::string::npos);
  EXPECT_NE(message(optim::Piecewise{{2, 2}, {1, 2, 3}}).find("Piecewise has boundaries = 2"), std::string::npos);
  EXPECT_NE(message(optim::Step{.step_size = -1}).find("Step has step_size = -1"), std::string::npos);
  EXPECT_NE(message(optim::Exponential{.decay_steps = 0}).find("Exponential has decay_steps"), std::string::npos);
  EXPECT_NE(message(optim::Polynomial{.decay_steps = 0}).find("Polynomial has decay_steps"), std::string::npos);
  EXPECT_NE(message(optim::CosineEpochs{.epochs = 0}).find("CosineEpochs has epochs"), std::string::npos);
  EXPECT_NE(message(optim::LinearWarmup{.warmup_steps = -1}).find("LinearWarmup has warmup_steps"), std::string::npos);
  EXPECT_NE(message(optim::LinearWarmupDecay{.total_steps = 0}).find("LinearWarmupDecay has total_steps"),
            std::string::npos);
  EXPECT_NE(message(optim::Noam{.d_model = 0}).find("Noam has d_model"), std::string::npos);
}

}  // namespace
