#include <fleet/optim/elementwise_state.hpp>

#include <numeric>

#include <gtest/gtest.h>

#include <fleet/core/random.hpp>
#include <fleet/optim/adagrad.hpp>
#include <fleet/optim/adam.hpp>
#include <fleet/optim/momentum.hpp>
#include <fleet/optim/sgd.hpp>

namespace {

namespace optim = fleet::optim;

/// Tensors of given sizes, with a gap after some of them, in one array of values and one of gradients.
struct Arrays {
  std::vector<float> values, gradients;
  std::vector<fleet::Parameter> parameters;

  Arrays(std::vector<std::size_t> const& sizes, std::size_t gap, bool reversed) {
    auto const total = std::accumulate(sizes.begin(), sizes.end(), sizes.size() * gap);
    values.resize(total), gradients.resize(total);
    std::size_t offset = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      auto const at = reversed ? total - offset - sizes[i] : offset;
      parameters.emplace_back(fleet::text("p", i), std::span{values}.subspan(at, sizes[i]),
                              std::span{gradients}.subspan(at, sizes[i]));
      offset += sizes[i] + gap;
    }
    fleet::Random random{1};
    for (auto const& parameter : parameters)
      for (auto& value : parameter.value) value = random.normal();
  }
  void draw(std::uint64_t seed) {
    fleet::Random random{seed};
    for (auto const& parameter : parameters)
      for (auto& gradient : parameter.gradient) gradient = random.normal();
  }
  std::vector<float> all() const {
    std::vector<float> out;
    for (auto const& parameter : parameters) out.insert(out.end(), parameter.value.begin(), parameter.value.end());
    return out;
  }
};

template <class Optimizer>
struct ElementwiseState : testing::Test {};

using Optimizers = testing::Types<optim::SGD, optim::Momentum, optim::Adagrad, optim::Adam, optim::AdamW>;
TYPED_TEST_SUITE(ElementwiseState, Optimizers);

std::vector<std::size_t> const sizes{0, 1, 7, 8, 9, 64, 0, 1000, 3, 1};

TYPED_TEST(ElementwiseState, OnePassEqualsOneParameterAtATime) {
  TypeParam optimizer{.learning_rate = 0.1f};
  optimizer.regularization.l2 = 0.01f;
  Arrays alone{sizes, 0, false};
  typename TypeParam::State each{optimizer, alone.parameters};
  for (std::size_t gap : {0u, 1u, 5u})
    for (bool reversed : {false, true}) {
      Arrays a{sizes, 0, false}, b{sizes, gap, reversed};
      typename TypeParam::State one{optimizer, a.parameters}, together{optimizer, b.parameters};
      for (int step = 0; step < 5; ++step) {
        a.draw(static_cast<std::uint64_t>(step)), b.draw(static_cast<std::uint64_t>(step));
        one.begin_update(step), together.begin_update(step);
        for (std::size_t i = 0; i < sizes.size(); ++i) one.update(i, a.parameters[i], 0.5f);
        together.update_all(b.parameters, {}, 0.5f);
        ASSERT_EQ(a.all(), b.all()) << "step " << step << ", gap " << gap << ", reversed " << reversed;
      }
    }
}

TYPED_TEST(ElementwiseState, ASkippedParameterKeepsValueAndState) {
  TypeParam const optimizer{.learning_rate = 0.1f};
  Arrays skipping{sizes, 0, false}, late{{sizes[7]}, 0, false};
  std::copy_n(skipping.parameters[7].value.data(), sizes[7], late.values.data());
  typename TypeParam::State state{optimizer, skipping.parameters}, fresh{optimizer, late.parameters};
  std::vector<std::uint8_t> active(sizes.size(), 1);
  active[7] = 0;
  auto const before = std::vector<float>(late.values);
  for (int step = 0; step < 3; ++step) {
    skipping.draw(static_cast<std::uint64_t>(step));
    state.begin_update(step);
    state.update_all(skipping.parameters, active);
  }
  EXPECT_TRUE(std::equal(before.begin(), before.end(), skipping.parameters[7].value.begin()));
  EXPECT_NE(skipping.parameters[5].value[0], (Arrays{sizes, 0, false}.parameters[5].value[0]));
  for (int step = 0; step < 3; ++step) {  // joins late: as if it had begun now
    skipping.draw(static_cast<std::uint64_t>(step));
    std::copy_n(skipping.parameters[7].gradient.data(), sizes[7], late.gradients.data());
    state.update_all(skipping.parameters);
    fresh.update_all(late.parameters);
  }
  EXPECT_TRUE(std::equal(late.values.begin(), late.values.end(), skipping.parameters[7].value.begin()));
}

TYPED_TEST(ElementwiseState, AnArchiveCarriesTheWholeState) {
  TypeParam const optimizer{.learning_rate = 0.1f};
  Arrays a{sizes, 0, false}, b{sizes, 2, true};  // the layout in memory may differ
  typename TypeParam::State first{optimizer, a.parameters}, second{optimizer, b.parameters};
  for (int step = 0; step < 3; ++step) a.draw(static_cast<std::uint64_t>(step)), first.update_all(a.parameters);
  for (std::size_t i = 0; i < sizes.size(); ++i)
    std::copy_n(a.parameters[i].value.data(), sizes[i], b.parameters[i].value.data());

  std::vector<float> numbers;
  std::vector<std::int64_t> counts;
  auto save = [&](std::string const&, auto&& piece) {
    if constexpr (requires { piece.size(); })
      numbers.insert(numbers.end(), piece.begin(), piece.end());
    else
      counts.push_back(piece);
  };
  first.archive(save);
  std::size_t number = 0, count = 0;
  auto load = [&](std::string const&, auto&& piece) {
    if constexpr (requires { piece.size(); })
      for (auto& element : piece) element = numbers.at(number++);
    else
      piece = counts.at(count++);
  };
  second.archive(load);
  EXPECT_EQ(number, numbers.size());
  for (int step = 3; step < 6; ++step) {
    a.draw(static_cast<std::uint64_t>(step)), b.draw(static_cast<std::uint64_t>(step));
    first.update_all(a.parameters), second.update_all(b.parameters);
    ASSERT_EQ(a.all(), b.all()) << step;
  }
}

TYPED_TEST(ElementwiseState, AnotherModelIsRefused) {
  Arrays model{{3, 4}, 0, false}, other{{3, 5}, 0, false};
  typename TypeParam::State state{TypeParam{}, model.parameters};
  EXPECT_THROW(state.update_all(other.parameters), fleet::ContractError);
  EXPECT_THROW(state.update(1, other.parameters[1]), fleet::ContractError);
}

struct Falling {
  double at(std::int64_t t) const { return 1.0 - static_cast<double>(t); }
};

TEST(LearningRateOfAState, FollowsTheSchedule) {
  Arrays model{{2}, 0, false};
  optim::SGD::State state{optim::SGD{.learning_rate = Falling{}}, model.parameters};
  EXPECT_EQ(state.learning_rate(), 1.0f);
  state.begin_update(1);
  EXPECT_EQ(state.learning_rate(), 0.0f);
  EXPECT_THROW(state.begin_update(2), fleet::ConfigurationError);
}

}  // namespace
