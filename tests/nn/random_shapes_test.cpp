// Layers of many small random shapes against plain loops.
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include <fleet/core/random.hpp>

#include "nn/probe.hpp"
#include "nn/reference.hpp"

namespace nn = fleet::nn;

namespace {

class RandomShapes : public testing::Test {
 protected:
  std::int64_t number(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(most - least + 1)));
  }
  bool flip() { return number(0, 1) == 1; }
  nn::Pair pair(std::int64_t least, std::int64_t most) { return {number(least, most), number(least, most)}; }
  std::vector<float> values(std::size_t count) {
    std::vector<float> out(count);
    for (auto& value : out) value = 2 * random_.uniform() - 1;
    return out;
  }
  /// With equal elements, so that windows have ties.
  std::vector<float> few_values(std::size_t count) {
    std::vector<float> out(count);
    for (auto& value : out) value = static_cast<float>(number(-2, 2));
    return out;
  }
  auto gradients() {
    return [this](fleet::Shape const& shape) { return last_gradient_ = values(shape.count()); };
  }

  static void expect_near(std::vector<float> const& actual, std::vector<double> const& expected,
                          std::string const& what) {
    ASSERT_EQ(actual.size(), expected.size()) << what;
    double scale = 1;
    for (auto const value : expected) scale = std::max(scale, std::abs(value));
    for (std::size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(static_cast<double>(actual[i]), expected[i], 1e-5 * scale) << what << ", element " << i;
  }

  fleet::Random random_{20};
  std::vector<float> last_gradient_;
};

TEST_F(RandomShapes, Linear) {
  for (int round = 0; round < 60; ++round) {
    nn::Linear const layer{number(1, 70), number(1, 70), {.bias = flip()}};
    auto const shape = flip() ? fleet::Shape{number(1, 40), layer.in_features}
                              : fleet::Shape{number(1, 4), number(1, 5), layer.in_features};
    auto const what = fleet::text(round, ": ", shape.text(), " -> ", layer.out_features);
    auto const x = values(shape.count()),
               weight = values(static_cast<std::size_t>(layer.in_features * layer.out_features));
    auto const bias = values(layer.options.bias ? static_cast<std::size_t>(layer.out_features) : 0);
    auto const expected = test::reference::linear(layer, shape, x, weight, bias, gradients());
    auto const actual =
        test::run_layer(layer, test::tensor(shape, x), last_gradient_, {{"weight", weight}, {"bias", bias}});
    EXPECT_EQ(actual.shape, expected.shape) << what;
    expect_near(actual.result, expected.result, what);
    expect_near(actual.gradients.at("x"), expected.input_gradient, what + ", x");
    expect_near(actual.gradients.at("weight"), expected.weight_gradient, what + ", weight");
    if (layer.options.bias) expect_near(actual.gradients.at("bias"), expected.bias_gradient, what + ", bias");
  }
}

TEST_F(RandomShapes, Conv2d) {
  for (int round = 0; round < 120; ++round) {
    auto const groups = flip() ? 1 : number(1, 4);
    nn::Conv2d const layer{
        groups * number(1, flip() ? 3 : 20),
        groups * number(1, flip() ? 5 : 33),
        pair(1, 4),
        {.stride = pair(1, 3), .padding = pair(0, 2), .dilation = pair(1, 2), .groups = groups, .bias = flip()}};
    fleet::Shape const shape{number(1, 3), layer.in_channels, number(7, 12), number(7, 12)};
    auto const what = fleet::text(round, ": ", shape.text(), " groups ", groups, " out ", layer.out_channels,
                                  " kernel ", layer.kernel.height, "x", layer.kernel.width);
    auto const x = values(shape.count());
    auto const weight = values(static_cast<std::size_t>(layer.out_channels * layer.in_channels / groups *
                                                        layer.kernel.height * layer.kernel.width));
    auto const bias = values(layer.options.bias ? static_cast<std::size_t>(layer.out_channels) : 0);
    auto const expected = test::reference::conv2d(layer, shape, x, weight, bias, gradients());
    auto const actual =
        test::run_layer(layer, test::tensor(shape, x), last_gradient_, {{"weight", weight}, {"bias", bias}});
    EXPECT_EQ(actual.shape, expected.shape) << what;
    expect_near(actual.result, expected.result, what);
    expect_near(actual.gradients.at("x"), expected.input_gradient, what + ", x");
    expect_near(actual.gradients.at("weight"), expected.weight_gradient, what + ", weight");
    if (layer.options.bias) expect_near(actual.gradients.at("bias"), expected.bias_gradient, what + ", bias");
  }
}

/// Kernel, stride and padding that a pooling may have.
template <class Options>
Options pooling(nn::Pair const& stride, nn::Pair const& padding, bool ceil_mode) {
  Options options;
  options.stride = stride, options.padding = padding, options.ceil_mode = ceil_mode;
  return options;
}

TEST_F(RandomShapes, MaxPool2d) {
  for (int round = 0; round < 100; ++round) {
    auto const kernel = pair(1, 4);
    nn::MaxPool2d const layer{
        kernel,
        pooling<nn::Pool2dOptions>(pair(1, 4), {number(0, kernel.height / 2), number(0, kernel.width / 2)}, flip())};
    fleet::Shape const shape{number(1, 3), number(1, 20), number(4, 9), number(4, 9)};
    auto const what = fleet::text(round, ": ", shape.text(), " kernel ", kernel.height, "x", kernel.width);
    auto const x = few_values(shape.count());
    auto const expected = test::reference::max_pool2d(layer, shape, x, gradients());
    auto const actual = test::run_layer(layer, test::tensor(shape, x), last_gradient_);
    EXPECT_EQ(actual.shape, expected.shape) << what;
    expect_near(actual.result, expected.result, what);
    expect_near(actual.gradients.at("x"), expected.input_gradient, what + ", x");
  }
}

TEST_F(RandomShapes, AvgPool2d) {
  for (int round = 0; round < 100; ++round) {
    auto const kernel = pair(1, 4);
    auto options =
        pooling<nn::AvgPool2dOptions>(pair(1, 4), {number(0, kernel.height / 2), number(0, kernel.width / 2)}, flip());
    options.exclusive = flip();
    nn::AvgPool2d const layer{kernel, options};
    fleet::Shape const shape{number(1, 3), number(1, 20), number(4, 9), number(4, 9)};
    auto const what = fleet::text(round, ": ", shape.text(), " kernel ", kernel.height, "x", kernel.width);
    auto const x = values(shape.count());
    auto const expected = test::reference::avg_pool2d(layer, shape, x, gradients());
    auto const actual = test::run_layer(layer, test::tensor(shape, x), last_gradient_);
    EXPECT_EQ(actual.shape, expected.shape) << what;
    expect_near(actual.result, expected.result, what);
    expect_near(actual.gradients.at("x"), expected.input_gradient, what + ", x");
  }
}

/// A pooling or an activation behind a convolution runs in the convolution's own layout.
TEST_F(RandomShapes, ConvolutionWithWhatIsFusedIntoIt) {
  for (int round = 0; round < 40; ++round) {
    nn::Conv2d const layer{number(1, 20), number(1, 33), 3, {.padding = 1}};
    nn::MaxPool2d const pool{2, {.ceil_mode = flip()}};
    fleet::Shape const shape{number(1, 3), layer.in_channels, number(5, 9), number(5, 9)};
    auto const what = fleet::text(round, ": ", shape.text(), " out ", layer.out_channels);
    auto const x = values(shape.count());
    auto const weight = values(static_cast<std::size_t>(layer.out_channels * layer.in_channels * 9));
    auto const bias = values(static_cast<std::size_t>(layer.out_channels));

    auto const none = [](fleet::Shape const& of) { return std::vector<float>(of.count()); };
    auto const convolved = test::reference::conv2d(layer, shape, x, weight, bias, none);
    std::vector<float> rectified(convolved.result.begin(), convolved.result.end());
    for (auto& value : rectified) value = std::max(value, 0.0f);
    auto const expected = test::reference::max_pool2d(pool, convolved.shape, rectified, gradients());
    std::vector<float> slope(expected.input_gradient.begin(), expected.input_gradient.end());
    for (std::size_t i = 0; i < slope.size(); ++i) slope[i] = rectified[i] > 0 ? slope[i] : 0;
    auto const behind =
        test::reference::conv2d(layer, shape, x, weight, bias, [&](fleet::Shape const&) { return slope; });

    auto const actual = test::run_layer(nn::Sequential{layer, nn::ReLU{}, pool}, test::tensor(shape, x), last_gradient_,
                                        {{"0.weight", weight}, {"0.bias", bias}});
    EXPECT_EQ(actual.shape, expected.shape) << what;
    expect_near(actual.result, expected.result, what);
    expect_near(actual.gradients.at("x"), behind.input_gradient, what + ", x");
    expect_near(actual.gradients.at("0.weight"), behind.weight_gradient, what + ", weight");
    expect_near(actual.gradients.at("0.bias"), behind.bias_gradient, what + ", bias");
  }
}

}  // namespace
