// Every policy, alone and together, under the laws that hold for all of them. A policy's own line is added here.
#include <gtest/gtest.h>

#include <fleet/optim/adam.hpp>
#include <fleet/optim/momentum.hpp>
#include <fleet/strategy/clip_gradient_norm.hpp>
#include <fleet/strategy/clip_gradient_value.hpp>
#include <fleet/strategy/gradient_merge.hpp>

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

TEST(PolicyLaws, Together) {
  policy_laws(adam,
              fleet::Strategy{fleet::ClipGradientNorm{0.5f}, fleet::FuseAllReduce{.layers = 2}, fleet::GradientMerge<2>{}},
              {.alone_is_plain = false});
}

}  // namespace
