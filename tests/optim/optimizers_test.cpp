#include <fleet/optim/adagrad.hpp>
#include <fleet/optim/adam.hpp>
#include <fleet/optim/clip.hpp>
#include <fleet/optim/momentum.hpp>
#include <fleet/optim/optimizer.hpp>
#include <fleet/optim/sgd.hpp>

#include <map>

#include "optim/model.hpp"
#include "support/golden.hpp"

namespace {

namespace optim = fleet::optim;

static_assert(optim::StatefulOptimizer<optim::SGD> && optim::StatefulOptimizer<optim::Momentum> &&
              optim::StatefulOptimizer<optim::Adagrad> && optim::StatefulOptimizer<optim::Adam> &&
              optim::StatefulOptimizer<optim::AdamW>);

/// Clips as the file says; the factor that is the same for all tensors is left to the update.
float clip(test::Json const& clip, std::vector<fleet::Parameter> const& parameters) {
  if (clip.is_null()) return 1;
  if (clip.at("kind") == "global_norm") return optim::clip_factor(optim::global_norm(parameters), clip.at("threshold"));
  for (auto const& parameter : parameters)
    if (clip.at("kind") == "norm")
      optim::scale(parameter.gradient, optim::clip_factor(optim::norm(parameter.gradient), clip.at("threshold")));
    else
      optim::clip_value(parameter.gradient, clip.at("min"), clip.at("max"));
  return 1;
}

template <class Optimizer>
void run(test::Json const& file, test::Json const& entry, Optimizer optimizer) {
  test::Tolerance const tolerance{file};
  if (auto const& decay = entry.at("regularization"); !decay.is_null()) {
    if (decay.at("kind") == "l2")
      optimizer.regularization = optim::L2{decay.at("coefficient")};
    else
      optimizer.regularization = optim::L1{decay.at("coefficient")};
  }
  test::Model model{file.at("tensors")};
  auto const parameters = model.parameters();
  typename Optimizer::State state{optimizer, parameters};

  std::int64_t step = 0;
  for (auto const& after : entry.at("parameters")) {
    auto const what = entry.at("name").get<std::string>() + ", step " + std::to_string(step);
    model.set_gradients(file.at("gradients").at(static_cast<std::size_t>(step)));
    state.begin_update(step++);
    state.update_all(parameters, {}, clip(entry.at("clip"), parameters));
    for (std::size_t i = 0; i < parameters.size(); ++i)
      test::expect_close(parameters[i].value, after.at(i), tolerance, what);
  }
  std::map<std::string, std::vector<float>> pieces;
  auto save = [&](std::string const& name, auto&& piece) {
    if constexpr (requires { piece.size(); }) pieces[name].assign(piece.begin(), piece.end());
  };
  state.archive(save);
  for (std::size_t i = 0; i < parameters.size(); ++i)
    for (auto const& [slot, expected] : entry.at("final_state").at(i).items())
      test::expect_close(pieces.at("optimizer/" + parameters[i].name + "/" + slot), expected, tolerance,
                         entry.at("name").template get<std::string>() + ", " + slot);
}

TEST(Optimizers, FollowTheGoldenFile) {
  auto const file = test::golden("optimizers.json");
  for (auto const& entry : file.at("cases")) {
    auto const& settings = entry.at("settings");
    auto const real = [&](char const* name) { return settings.at(name).get<float>(); };
    auto const rate = real("learning_rate");
    auto const kind = entry.at("optimizer").get<std::string>();
    if (kind == "sgd")
      run(file, entry, optim::SGD{.learning_rate = rate});
    else if (kind == "momentum")
      run(file, entry,
          optim::Momentum{.learning_rate = rate, .momentum = real("momentum"), .nesterov = settings.at("nesterov")});
    else if (kind == "adagrad")
      run(file, entry, optim::Adagrad{.learning_rate = rate, .epsilon = real("epsilon")});
    else if (kind == "adam")
      run(file, entry,
          optim::Adam{
              .learning_rate = rate, .beta1 = real("beta1"), .beta2 = real("beta2"), .epsilon = real("epsilon")});
    else if (kind == "adamw")
      run(file, entry,
          optim::AdamW{.learning_rate = rate,
                       .beta1 = real("beta1"),
                       .beta2 = real("beta2"),
                       .epsilon = real("epsilon"),
                       .weight_decay = real("weight_decay")});
    else
      ADD_FAILURE() << "unknown optimizer " << kind;
  }
}

template <class Optimizer>
std::string message(Optimizer const& optimizer) {
  try {
    typename Optimizer::State state{optimizer, {}};
  } catch (fleet::ConfigurationError const& error) {
    return error.what();
  }
  return "";
}

TEST(Optimizers, AnErrorNamesOptimizerFieldValueAndRange) {
  EXPECT_EQ(message(optim::Adam{.beta1 = 1.5f}),
            "fleet: optim::Adam has beta1 = 1.5; it must be in [0, 1). Change .beta1");
  EXPECT_NE(message(optim::SGD{.learning_rate = -0.5f}).find("SGD has learning_rate = -0.5"), std::string::npos);
  EXPECT_NE(message(optim::SGD{.learning_rate = NAN}).find("SGD has learning_rate = nan"), std::string::npos);
  EXPECT_NE(message(optim::SGD{.regularization = optim::L2{-1}}).find("regularization = -1"), std::string::npos);
  EXPECT_NE(message(optim::Momentum{.momentum = 1}).find("Momentum has momentum = 1"), std::string::npos);
  EXPECT_NE(message(optim::Momentum{.momentum = NAN}).find("Momentum has momentum = nan"), std::string::npos);
  EXPECT_NE(message(optim::Adagrad{.epsilon = 0}).find("Adagrad has epsilon = 0"), std::string::npos);
  EXPECT_NE(message(optim::AdamW{.weight_decay = -1}).find("AdamW has weight_decay = -1"), std::string::npos);
  EXPECT_NE(message(optim::AdamW{.beta2 = -0.1f}).find("AdamW has beta2 = -0.1"), std::string::npos);
}

}  // namespace
