#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fleet/optim/adagrad.hpp>
#include <fleet/optim/adam.hpp>
#include <fleet/optim/momentum.hpp>
#include <fleet/optim/sgd.hpp>

#include "support/golden.hpp"

namespace test {

/// Calls `function` with the optimizer that a golden case names, with its settings and regularisation.
template <class Function>
void with_optimizer(Json const& golden_case, Function&& function) {
  auto const& settings = golden_case.at("settings");
  auto const setting = [&](char const* name) { return settings.at(name).get<float>(); };
  fleet::optim::Regularization regularization;
  if (auto const& rule = golden_case.value("regularization", Json{}); !rule.is_null())
    (rule.at("kind") == "l2" ? regularization.l2 : regularization.l1) = rule.at("coefficient").get<float>();
  auto const kind = golden_case.at("optimizer").get<std::string>();
  auto const rate = setting("learning_rate");
  if (kind == "sgd") return function(fleet::optim::SGD{.learning_rate = rate, .regularization = regularization});
  if (kind == "momentum")
    return function(fleet::optim::Momentum{.learning_rate = rate,
                                           .momentum = setting("momentum"),
                                           .nesterov = settings.value("nesterov", false),
                                           .regularization = regularization});
  if (kind == "adagrad")
    return function(
        fleet::optim::Adagrad{.learning_rate = rate, .epsilon = setting("epsilon"), .regularization = regularization});
  if (kind == "adam")
    return function(fleet::optim::Adam{.learning_rate = rate,
                                       .beta1 = setting("beta1"),
                                       .beta2 = setting("beta2"),
                                       .epsilon = setting("epsilon"),
                                       .regularization = regularization});
  FAIL() << "no optimizer named " << kind;
}

/// An optimizer chosen when the program runs; as the trainer sees it, one of the user's own.
class AnyOptimizer {
 public:
  AnyOptimizer(Json const& golden_case, std::vector<fleet::Parameter> parameters) {
    with_optimizer(golden_case, [&](auto optimizer) {
      auto state = std::make_shared<typename decltype(optimizer)::State>(optimizer, parameters);
      update_ = [state, parameters](fleet::Parameter const& parameter) {
        for (std::size_t i = 0; i < parameters.size(); ++i)
          if (parameters[i].name == parameter.name) state->update(i, parameter);
      };
    });
  }

  void update(fleet::Parameter const& parameter) { update_(parameter); }

 private:
  std::function<void(fleet::Parameter const&)> update_;
};

}  // namespace test
