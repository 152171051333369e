#include <fleet/optim/clip.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace {

namespace optim = fleet::optim;

TEST(Clip, NormsAreExactWhereTheyCanBe) {
  for (std::size_t n : {0u, 1u, 7u, 8u, 9u, 100u, 10'000u}) {
    std::vector<float> const ones(n, 3);
    EXPECT_EQ(optim::sum_of_squares(ones), 9.0 * static_cast<double>(n)) << n;
  }
  EXPECT_EQ(optim::norm(std::vector<float>{3, 4}), 5.0);
  float const big = 3e30f;  // its square is beyond float
  EXPECT_EQ(optim::norm(std::vector<float>{big}), static_cast<double>(big));
}

TEST(Clip, TheGlobalNormIsOverAllTensorsThatTakePart) {
  std::vector<float> value(5), gradient{2.5f, 2.5f, 2.5f, 2.5f, 100};
  std::span<float> const v{value}, g{gradient};
  std::vector<fleet::Parameter> const parameters{{"empty", v.first(0), g.first(0)},
                                                 {"one", v.subspan(0, 1), g.subspan(0, 1)},
                                                 {"three", v.subspan(1, 3), g.subspan(1, 3)},
                                                 {"frozen", v.subspan(4, 1), g.subspan(4, 1)}};
  std::vector<std::uint8_t> const active{1, 1, 1, 0};
  EXPECT_EQ(optim::global_norm(parameters, active), 5.0);
  EXPECT_GT(optim::global_norm(parameters), 100.0);
  EXPECT_EQ(optim::global_norm({}), 0.0);
}

TEST(Clip, TheFactorLeavesSmallNormsAlone) {
  EXPECT_EQ(optim::clip_factor(0, 1), 1.0f);
  EXPECT_EQ(optim::clip_factor(1, 1), 1.0f);
  EXPECT_EQ(optim::clip_factor(4, 1), 0.25f);
}

TEST(Clip, WhatIsNotFiniteIsNotHidden) {
  float const inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(optim::norm(std::vector<float>{1, inf}), inf);
  EXPECT_TRUE(std::isnan(optim::norm(std::vector<float>{1, nan})));
  EXPECT_TRUE(std::isnan(optim::clip_factor(static_cast<double>(nan), 1)));
  std::vector<float> values{nan, inf, -inf, 0.5f};
  optim::clip_value(values, -1, 1);
  EXPECT_TRUE(std::isnan(values[0]));
  EXPECT_EQ((std::vector<float>{values.begin() + 1, values.end()}), (std::vector<float>{1, -1, 0.5f}));
}

TEST(Clip, ScaleMultipliesEachElement) {
  std::vector<float> values(11, 2);
  optim::scale(values, 0.5f);
  EXPECT_EQ(values, std::vector<float>(11, 1));
}

}  // namespace
