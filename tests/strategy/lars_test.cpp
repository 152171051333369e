#include <fleet/strategy/lars.hpp>

#include <limits>

#include <fleet/strategy/clip_gradient_norm.hpp>
#include <fleet/train/distribute.hpp>

#include "strategy/replayed.hpp"

namespace {

using test::Json;

fleet::LARS lars_of(Json const& settings) {
  return {.coefficient = settings.at("coefficient"),
          .weight_decay = settings.at("weight_decay"),
          .epsilon = settings.at("epsilon"),
          .exclude = settings.at("exclude")};
}

TEST(LARS, FollowsTheGoldenRunsOnAnyNumberOfWorkers) {
  auto const file = test::golden("lars.json");
  test::Tolerance const tolerance{file};
  for (auto const& entry : file.at("cases"))
    for (int workers : {1, 2})
      test::run_workers(workers, [&](fleet::Job& job) {
        auto const& settings = entry.at("settings");
        auto const name = entry.at("name").get<std::string>();
        fleet::ClipGradientNorm clip{std::numeric_limits<float>::infinity()};
        if (!entry.at("clip").is_null()) clip.threshold = entry.at("clip").at("threshold");
        fleet::optim::Momentum const momentum{.learning_rate = settings.at("learning_rate").get<float>(),
                                              .momentum = settings.at("momentum")};
        auto const lars = lars_of(settings);
        auto model = test::replay_of(file.at("tensors"));
        auto trainer = fleet::distribute(job, model, momentum, fleet::Strategy{lars, clip});
        for (std::size_t step = 0; step < file.at("gradients").size(); ++step) {
          trainer.forward_backward(test::batch_of(file.at("gradients")[step]));
          trainer.synchronize();
          std::vector<double> squares{0};
          for (auto const& p : trainer.gradients()) squares.push_back(fleet::optim::sum_of_squares(p.gradient));
          double total = 0;
          for (auto square : squares) total += square;
          auto const factor = static_cast<double>(fleet::optim::clip_factor(std::sqrt(total), clip.threshold));
          for (std::size_t i = 0; i < model.values.size(); ++i) {
            bool excluded = false;
            for (auto const& pattern : lars.exclude) excluded |= model.names[i].find(pattern) != std::string::npos;
            auto const rate = excluded
                                  ? momentum.learning_rate.at(0)
                                  : lars.local_rate(momentum.learning_rate.at(0), fleet::optim::norm(model.values[i]),
                                                    factor * std::sqrt(squares[i + 1]));
            test::expect_close(std::vector{rate}, Json::array({entry.at("local_rates")[step][i]}), tolerance,
                               name + ", rate of " + model.names[i]);
          }
          trainer.update();
          for (std::size_t i = 0; i < model.values.size(); ++i)
            test::expect_close(model.values[i], entry.at("parameters")[step][i], tolerance,
                               name + ", step " + std::to_string(step));
        }
        for (std::size_t i = 0; i < model.values.size(); ++i)
          test::expect_close(test::saved(trainer, "strategy/LARS/velocity/" + model.names[i]),
                             entry.at("final_state").at("velocity")[i], tolerance, name + ", velocity");
      });
}

/// One step from w with gradient g; rate 0.1 and no momentum.
std::vector<float> one_step(std::vector<float> const& w, std::vector<float> const& g, fleet::LARS const& lars) {
  return test::collect(1, [&](fleet::Job& job) {
    test::Replay model{{"w"}, {w}};
    auto trainer = fleet::distribute(job, model, fleet::optim::Momentum{.learning_rate = 0.1f, .momentum = 0},
                                     fleet::Strategy{lars});
    trainer.step(test::Replay::Batch{g});
    return model.values[0];
  })[0];
}

TEST(LARS, ANormOfZeroNeitherFreezesNorPoisons) {
  EXPECT_EQ(one_step({0, 0}, {1, 1}, {}), (std::vector{-0.1f, -0.1f}));
  EXPECT_EQ(one_step({3, 4}, {0, 0}, {.weight_decay = 0}), (std::vector{3.0f, 4.0f}));
  auto const shrunk = one_step({3, 4}, {0, 0}, {.weight_decay = 0.1f});
  EXPECT_LT(shrunk[0], 3.0f);
  EXPECT_FLOAT_EQ(shrunk[0] / 3, shrunk[1] / 4);
  EXPECT_EQ(one_step({3, 4}, {1, 2}, {.exclude = {"w"}}), (std::vector{3 - 0.1f, 4 - 0.2f}));
}

TEST(LARS, RefusesValuesThatCannotWork) {
  EXPECT_THROW(fleet::Strategy{fleet::LARS{.coefficient = 0}}, fleet::ConfigurationError);
  EXPECT_THROW(fleet::Strategy{fleet::LARS{.weight_decay = -1}}, fleet::ConfigurationError);
  EXPECT_THROW(fleet::Strategy{fleet::LARS{.epsilon = -1}}, fleet::ConfigurationError);
}

TEST(LARS, NotesWhatHasNoEffect) {
  test::run_workers(1, [](fleet::Job& job) {
    test::Replay model{{"w"}, {{1}}};
    auto trainer = fleet::distribute(job, model, fleet::optim::Momentum{.nesterov = true},
                                     fleet::Strategy{fleet::LARS{.exclude = {"batch_norm"}}});
    std::string all;
    for (auto const& note : trainer.notes()) all += note + "\n";
    EXPECT_NE(all.find("\"batch_norm\""), std::string::npos) << all;
    EXPECT_NE(all.find("nesterov"), std::string::npos) << all;
  });
}

}  // namespace
