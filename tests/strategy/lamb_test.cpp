#include <fleet/strategy/lamb.hpp>

#include <limits>

#include <fleet/strategy/clip_gradient_norm.hpp>
#include <fleet/train/distribute.hpp>

#include "strategy/replayed.hpp"

namespace {

using test::Json;

/// The trust ratio of a step, from the moments that it left and the value before it.
template <class Trainer>
float ratio_of(Trainer& trainer, std::size_t i, std::vector<float> const& before, fleet::optim::Adam const& adam,
               fleet::LAMB const& lamb, double t) {
  auto const name = trainer.parameters()[i].name;
  auto const m = test::saved(trainer, "strategy/LAMB/moment1/" + name),
             u = test::saved(trainer, "strategy/LAMB/moment2/" + name);
  bool excluded = false;
  for (auto const& pattern : lamb.exclude) excluded |= name.find(pattern) != std::string::npos;
  double const decay = excluded ? 0 : lamb.weight_decay;
  double const m_part = lamb.bias_correction ? 1 - std::pow(adam.beta1, t) : 1;
  double const u_part = lamb.bias_correction ? 1 - std::pow(adam.beta2, t) : 1;
  std::vector<float> r;
  for (std::size_t j = 0; j < before.size(); ++j)
    r.push_back(static_cast<float>(m[j] / m_part / (std::sqrt(u[j] / u_part) + adam.epsilon) + decay * before[j]));
  return fleet::LAMB::trust_ratio(fleet::optim::norm(before), fleet::optim::norm(r));
}

TEST(LAMB, FollowsTheGoldenRunsOnAnyNumberOfWorkers) {
  auto const file = test::golden("lamb.json");
  test::Tolerance const tolerance{file};
  for (auto const& entry : file.at("cases"))
    for (int workers : {1, 2})
      test::run_workers(workers, [&](fleet::Job& job) {
        auto const& settings = entry.at("settings");
        auto const name = entry.at("name").get<std::string>();
        fleet::ClipGradientNorm clip{std::numeric_limits<float>::infinity()};
        if (!entry.at("clip").is_null()) clip.threshold = entry.at("clip").at("threshold");
        fleet::optim::Adam const adam{.learning_rate = settings.at("learning_rate").get<float>(),
                                      .beta1 = settings.at("beta1"),
                                      .beta2 = settings.at("beta2"),
                                      .epsilon = settings.at("epsilon")};
        fleet::LAMB const lamb{.weight_decay = settings.at("weight_decay"),
                               .bias_correction = settings.at("bias_correction"),
                               .exclude = settings.at("exclude")};
        auto model = test::replay_of(file.at("tensors"));
        auto trainer = fleet::distribute(job, model, adam, fleet::Strategy{lamb, clip});
        for (std::size_t step = 0; step < file.at("gradients").size(); ++step) {
          auto const before = model.values;
          trainer.step(test::batch_of(file.at("gradients")[step]));
          for (std::size_t i = 0; i < model.values.size(); ++i) {
            auto const what = name + ", step " + std::to_string(step);
            test::expect_close(model.values[i], entry.at("parameters")[step][i], tolerance, what);
            auto const ratio = ratio_of(trainer, i, before[i], adam, lamb, static_cast<double>(step) + 1);
            test::expect_close(std::vector{ratio}, Json::array({entry.at("trust_ratios")[step][i]}), tolerance, what);
          }
        }
        for (auto const& [slot, expected] : entry.at("final_state").items())
          for (std::size_t i = 0; i < model.values.size(); ++i)
            test::expect_close(test::saved(trainer, "strategy/LAMB/" + slot + "/" + model.names[i]), expected[i],
                               tolerance, name + ", " + slot);
      });
}

/// One step from w with gradient g, at rate 0.1.
std::vector<float> one_step(std::vector<float> const& w, std::vector<float> const& g, fleet::LAMB const& lamb) {
  return test::collect(1, [&](fleet::Job& job) {
    test::Replay model{{"w"}, {w}};
    auto trainer = fleet::distribute(job, model, fleet::optim::Adam{.learning_rate = 0.1f}, fleet::Strategy{lamb});
    trainer.step(test::Replay::Batch{g});
    return model.values[0];
  })[0];
}

TEST(LAMB, ANormOfZeroNeitherFreezesNorPoisons) {
  auto const moved = one_step({0, 0}, {1, 1}, {});
  EXPECT_NEAR(moved[0], -0.31623, 1e-4);
  EXPECT_EQ(moved[0], moved[1]);
  EXPECT_NEAR(one_step({0, 0}, {1, 1}, {.bias_correction = true})[0], -0.1, 1e-5);
  EXPECT_EQ(one_step({3, 4}, {0, 0}, {.weight_decay = 0}), (std::vector{3.0f, 4.0f}));
  auto const shrunk = one_step({3, 4}, {0, 0}, {.weight_decay = 0.1f});
  EXPECT_LT(shrunk[0], 3.0f);
  EXPECT_FLOAT_EQ(shrunk[0] / 3, shrunk[1] / 4);
  EXPECT_EQ(one_step({3, 4}, {0, 0}, {.exclude = {"w"}}), (std::vector{3.0f, 4.0f}));
}

TEST(LAMB, RefusesValuesThatCannotWork) {
  EXPECT_THROW(fleet::Strategy{fleet::LAMB{.weight_decay = -1}}, fleet::ConfigurationError);
}

}  // namespace
