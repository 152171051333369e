#include <fleet/strategy/top_k.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include <fleet/core/random.hpp>

namespace {

/// By a full, stable sort: what the quick way has to equal.
std::vector<std::uint32_t> sorted_choice(std::vector<float> const& values, std::size_t k) {
  std::vector<std::uint32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return std::abs(values[a]) > std::abs(values[b]); });
  order.resize(k);
  std::sort(order.begin(), order.end());
  return order;
}

std::vector<std::uint32_t> choice(fleet::TopK& top, std::vector<float> const& values, std::size_t k) {
  auto const found = top(values, k);
  return {found.begin(), found.end()};
}

TEST(TopK, EqualsAFullSortForAnySizeAndShare) {
  fleet::TopK top;
  fleet::Random random{3};
  for (std::size_t n : {1u, 2u, 7u, 8u, 9u, 100u, 511u, 4'096u, 30'001u})
    for (double share : {0.0, 0.0005, 0.01, 0.1, 0.3, 1.0}) {
      auto const k = std::max<std::size_t>(1, static_cast<std::size_t>(share * static_cast<double>(n)));
      std::vector<float> normal(n), coarse(n), rising(n);
      for (auto& value : normal) value = random.normal();
      for (auto& value : coarse) value = std::round(random.normal());  // many ties
      std::iota(rising.begin(), rising.end(), 1.0f);
      for (auto const& values : {normal, coarse, rising, std::vector<float>(n, 0), std::vector<float>(n, -2)})
        ASSERT_EQ(choice(top, values, k), sorted_choice(values, k)) << n << " elements, k = " << k;
    }
}

TEST(TopK, TiesGoToTheLowerPlace) {
  fleet::TopK top;
  EXPECT_EQ(choice(top, {1, -2, 2, 0, -2, 1}, 2), (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(choice(top, {0, 0, 0}, 2), (std::vector<std::uint32_t>{0, 1}));
}

TEST(TopK, WhatIsNotANumberComesFirstAndBreaksNothing) {
  fleet::TopK top;
  auto const nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  std::vector<float> values(1'000, 1);
  values[900] = -nan, values[500] = inf, values[700] = nan;
  EXPECT_EQ(choice(top, values, 3), (std::vector<std::uint32_t>{500, 700, 900}));
  EXPECT_EQ(choice(top, std::vector<float>(100, nan), 2), (std::vector<std::uint32_t>{0, 1}));
}

TEST(TopK, NotesMayBeTakenInAPassThatMakesTheElements) {
  fleet::TopK top;
  std::vector<float> values(1'003);
  fleet::Random random{4};
  for (auto& value : values) value = random.normal();
  auto const expected = sorted_choice(values, 5);
  auto notes = top.begin(values.size(), 5);
  struct Double {
    fleet::TopK::Notes notes;
    void operator()(fleet::Floats& x) {
      x *= 2;
      notes(x);
    }
  } pass{notes};
  fleet::for_each_vector(values.size(), pass, values.data());
  pass.notes.finish();
  auto const found = top.choose(values);
  EXPECT_EQ((std::vector<std::uint32_t>{found.begin(), found.end()}), expected);
}

}  // namespace
