// Every policy, alone and together, under the laws that hold for all of them. A policy's own line is added here.
#include <gtest/gtest.h>

#include <fleet/optim/adam.hpp>
#include <fleet/optim/momentum.hpp>
#include <fleet/optim/sgd.hpp>
#include <fleet/strategy/adaptive_local_sgd.hpp>
#include <fleet/strategy/clip_gradient_norm.hpp>
#include <fleet/strategy/clip_gradient_value.hpp>
#include <fleet/strategy/dgc.hpp>
#include <fleet/strategy/gradient_merge.hpp>
#include <fleet/strategy/lamb.hpp>
#include <fleet/strategy/lars.hpp>
#include <fleet/strategy/local_sgd.hpp>

#include "laws/policy_laws.hpp"

namespace {

using test::policy_laws;

fleet::optim::Momentum const momentum{.learning_rate = 0.1f, .momentum = 0.9f};
fleet::optim::Adam const adam{.learning_rate = 0.05f};

TEST(PolicyLaws, NoPolicy) { policy_laws(momentum, fleet::Strategy{}); }

TEST(PolicyLaws, GradientMerge) {
  policy_laws(momentum, fleet::Strategy{fleet::GradientMerge<1>{}});
  policy_laws(adam, fleet::Strategy{fleet::GradientMerge<4>{}}, {.alone_is_plain = false});
  policy_laws(momentum, fleet::Strategy{fleet::GradientMerge<3>{.average = false}}, {.alone_is_plain = false});
}

TEST(PolicyLaws, ClipGradientNorm) {
  policy_laws(momentum, fleet::Strategy{fleet::ClipGradientNorm{1e6f}});
  policy_laws(adam, fleet::Strategy{fleet::ClipGradientNorm{0.5f}}, {.alone_is_plain = false});
}

TEST(PolicyLaws, ClipGradientValue) {
  policy_laws(momentum, fleet::Strategy{fleet::ClipGradientValue{-1e6f, 1e6f}});
  policy_laws(adam, fleet::Strategy{fleet::ClipGradientValue{-0.25f, 0.5f}}, {.alone_is_plain = false});
}

TEST(PolicyLaws, FuseAllReduce) {
  policy_laws(adam, fleet::Strategy{fleet::FuseAllReduce{.megabytes = 0}});
  policy_laws(adam, fleet::Strategy{fleet::FuseAllReduce{.megabytes = 1e-4, .layers = 1}});
}

TEST(PolicyLaws, LARS) {
  fleet::LARS const lars{.coefficient = 0.1f, .weight_decay = 0.01f, .exclude = {"bias"}};
  policy_laws(momentum, fleet::Strategy{lars}, {.alone_is_plain = false});
  policy_laws(momentum, fleet::Strategy{lars, fleet::GradientMerge<2>{}, fleet::ClipGradientNorm{1.0f}},
              {.alone_is_plain = false});
}

TEST(PolicyLaws, LAMB) {
  policy_laws(adam, fleet::Strategy{fleet::LAMB{.exclude = {"bias"}}}, {.alone_is_plain = false});
  policy_laws(
      adam,
      fleet::Strategy{fleet::LAMB{.bias_correction = true}, fleet::GradientMerge<2>{}, fleet::ClipGradientNorm{1.0f}},
      {.alone_is_plain = false});
}

TEST(PolicyLaws, DGC) {
  fleet::DGC const dgc{
      .rampup_begin_step = 2, .rampup_step = 6, .sparsity = {0.5f, 0.9f}, .min_elements = 2, .clip_norm = 4};
  policy_laws(momentum, fleet::Strategy{dgc});
  policy_laws(momentum, fleet::Strategy{dgc, fleet::GradientMerge<2>{}, fleet::ClipGradientNorm{1.0f}},
              {.alone_is_plain = false});
}

TEST(PolicyLaws, LocalSGD) {
  fleet::LocalSGD const local{.k_steps = 3, .begin_step = 0};
  policy_laws(momentum, fleet::Strategy{local}, {.equal_every_step = false});
  policy_laws(fleet::optim::SGD{.learning_rate = 0.1f}, fleet::Strategy{local}, {.equal_every_step = false});
  policy_laws(momentum, fleet::Strategy{local, fleet::GradientMerge<2>{}, fleet::ClipGradientNorm{1.0f}},
              {.alone_is_plain = false, .equal_every_step = false});
  policy_laws(momentum, fleet::Strategy{local, fleet::LARS{}}, {.alone_is_plain = false, .equal_every_step = false});
  policy_laws(adam, fleet::Strategy{local, fleet::LAMB{}}, {.alone_is_plain = false, .equal_every_step = false});
}

TEST(PolicyLaws, AdaptiveLocalSGD) {
  fleet::AdaptiveLocalSGD const local{.init_k_steps = 1, .begin_step = 2};
  policy_laws(momentum, fleet::Strategy{local}, {.equal_every_step = false});
  fleet::AdaptiveLocalSGD const synchronous{.begin_step = 12};
  policy_laws(momentum, fleet::Strategy{synchronous, fleet::LARS{}, fleet::GradientMerge<2>{}},
              {.alone_is_plain = false, .equal_every_step = false});
  policy_laws(adam, fleet::Strategy{local, fleet::LAMB{}}, {.alone_is_plain = false, .equal_every_step = false});
}

TEST(PolicyLaws, Together) {
  policy_laws(
      adam,
      fleet::Strategy{fleet::ClipGradientNorm{0.5f}, fleet::FuseAllReduce{.layers = 2}, fleet::GradientMerge<2>{}},
      {.alone_is_plain = false});
}

}  // namespace
