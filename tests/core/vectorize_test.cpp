#include <fleet/core/vectorize.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace {

TEST(Vectorize, EveryElementIsVisitedOnceAndNothingBeyondTheEnd) {
  for (std::size_t n = 0; n < 40; ++n) {
    std::vector<float> const in(n, 2);
    std::vector<float> out(n + 1, 1);
    fleet::for_each_vector(
        n, [](auto& x, auto& y) { y += 3 * x; }, in.data(), out.data());
    std::vector<float> expected(n, 7);
    expected.push_back(1);
    EXPECT_EQ(out, expected) << n;
  }
}

TEST(Vectorize, ConstArraysAreOnlyRead) {
  std::vector<float> const in(20, 2);
  fleet::for_each_vector(
      in.size(), [](auto& x) { x = x + 1; }, in.data());
  EXPECT_EQ(in, std::vector<float>(20, 2));
}

struct Sum {
  void operator()(fleet::Floats const& x) {
    for (std::size_t i = 0; i < fleet::float_lanes; ++i) sum += x[i];
  }
  float sum = 0;
};

TEST(Vectorize, ABodyMayAddUp) {
  std::vector<float> const in(21, 1);
  Sum sum;
  fleet::for_each_vector(in.size(), sum, in.data());
  EXPECT_EQ(sum.sum, 21.0f);
}

TEST(Vectorize, RootsAreRoundedAsTheStandardSays) {
  std::vector<float> values;
  for (int i = 0; i < 100; ++i) values.push_back(static_cast<float>(i) * 0.37f);
  auto roots = values;
  fleet::for_each_vector(
      roots.size(), [](auto& x) { fleet::take_root(x); }, roots.data());
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(roots[i], std::sqrt(values[i]));
}

}  // namespace
