// Gradients against differences of losses: a user's own layers, and networks that branch.
#include <cmath>

#include <gtest/gtest.h>

#include "nn/probe.hpp"

namespace nn = fleet::nn;

namespace {

/// y = x w, one weight a column: a user's layer with a parameter.
struct Scale {
  std::int64_t columns;

  std::vector<nn::ParameterSpec> parameters() const { return {{"scale", fleet::Shape{columns}, nn::constant(1.5f)}}; }
  fleet::Shape output_shape(fleet::Shape const& input) const { return input; }
  void forward(nn::Forward const& data) const {
    auto const width = data.parameters[0].size();
    for (std::size_t i = 0; i < data.input.size(); ++i) data.output[i] = data.input[i] * data.parameters[0][i % width];
  }
  void backward(nn::Backward const& data) const {
    auto const width = data.parameters[0].size();
    auto const weight_gradient = data.parameter_gradients[0];
    for (float& value : weight_gradient) value = 0;
    for (std::size_t i = 0; i < data.input.size(); ++i) {
      weight_gradient[i % width] += data.output_gradient[i] * data.input[i];
      if (!data.input_gradient.empty())
        data.input_gradient[i] = data.output_gradient[i] * data.parameters[0][i % width];
    }
  }
};

/// y = x^2 of every second column: a user's layer without parameters, whose shape changes.
struct SquareOfEven {
  fleet::Shape output_shape(fleet::Shape const& input) const { return {input[0], (input[1] + 1) / 2}; }
  void forward(nn::Forward const& data) const {
    for_each(data.input_shape,
             [&](std::size_t in, std::size_t out) { data.output[out] = data.input[in] * data.input[in]; });
  }
  void backward(nn::Backward const& data) const {
    for (float& value : data.input_gradient) value = 0;
    for_each(data.input_shape, [&](std::size_t in, std::size_t out) {
      if (!data.input_gradient.empty()) data.input_gradient[in] = 2 * data.input[in] * data.output_gradient[out];
    });
  }

 private:
  template <class Function>
  static void for_each(fleet::Shape const& shape, Function const& function) {
    std::size_t out = 0;
    for (std::size_t row = 0; row < static_cast<std::size_t>(shape[0]); ++row)
      for (std::size_t column = 0; column < shape.row(); column += 2) function(row * shape.row() + column, out++);
  }
};

template <class Network>
void expect_gradients(Network const& network, fleet::Shape const& input, std::int64_t classes) {
  nn::Executor executor{network, nn::SoftmaxCrossEntropy{}};
  test::Batch batch{fleet::Tensor<float>{input}, fleet::Tensor<std::int64_t>{{input[0]}}, {}};
  fleet::Random random{11};
  for (auto& value : batch.inputs.span()) value = 2 * random.uniform() - 1;
  for (auto& label : batch.labels.span())
    label = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(classes)));
  for (float& value : executor.flat_values()) value += 0.1f * (random.uniform() - 0.5f);
  executor.forward_backward(batch);
  std::vector<float> const gradient(executor.flat_gradients().begin(), executor.flat_gradients().end());
  float const step = 1e-2f;
  for (auto const& parameter : executor.parameters())
    for (std::size_t i = 0; i < parameter.value.size(); i += 1 + parameter.value.size() / 12) {
      float const before = parameter.value[i];
      auto const loss_at = [&](float offset) {
        parameter.value[i] = before + offset;
        return static_cast<double>(executor.forward_backward(batch));
      };
      // The error of the difference falls with the fourth power of the step.
      double const slope = (8 * (loss_at(step) - loss_at(-step)) - (loss_at(2 * step) - loss_at(-2 * step))) /
                           (12 * static_cast<double>(step));
      parameter.value[i] = before;
      auto const place = static_cast<std::size_t>(&parameter.value[i] - executor.flat_values().data());
      EXPECT_NEAR(static_cast<double>(gradient[place]), slope, 2e-4) << parameter.name << ", element " << i;
    }
}

TEST(Gradients, OfLayersOfYourOwn) {
  expect_gradients(nn::Sequential{nn::Linear{5, 6}, nn::Tanh{}, Scale{6}, SquareOfEven{}, nn::Linear{3, 4}}, {7, 5}, 4);
  expect_gradients(nn::Sequential{Scale{5}, nn::Linear{5, 4}}, {7, 5}, 4);
}

TEST(Gradients, OfAResidualWithTheInputAsShortcut) {
  expect_gradients(
      nn::Sequential{nn::Linear{5, 6}, nn::Residual{nn::Sequential{nn::Linear{6, 6}, nn::Tanh{}}}, nn::Linear{6, 3}},
      {7, 5}, 3);
}

TEST(Gradients, OfAResidualOnTheBatchItself) {
  expect_gradients(nn::Sequential{nn::Residual{nn::Linear{5, 5}}, nn::Sigmoid{}, nn::Linear{5, 3}}, {7, 5}, 3);
}

/// Activations change gradients in place: those of the other path must not change with them.
TEST(Gradients, OfResidualsWithActivationsOnBothPaths) {
  auto const path = [] { return nn::Sequential{nn::Linear{6, 6}, nn::Sigmoid{}, nn::GELU{}}; };
  expect_gradients(nn::Sequential{nn::Linear{5, 6}, nn::Residual{path(), nn::Tanh{}}, nn::Tanh{},
                                  nn::Residual{nn::Sigmoid{}, path()}, nn::Linear{6, 3}},
                   {7, 5}, 3);
}

TEST(Gradients, OfResidualsInResiduals) {
  auto const inner = [] { return nn::Residual{nn::Sequential{nn::Linear{6, 6}, nn::Tanh{}}}; };
  expect_gradients(
      nn::Sequential{nn::Linear{5, 6}, nn::Residual{nn::Sequential{inner(), nn::Sigmoid{}}, inner()},
                     nn::Residual{inner(), nn::Identity{}}, nn::Residual{nn::Identity{}}, nn::Linear{6, 3}},
      {7, 5}, 3);
}

TEST(Gradients, OfAConvolutionalResidual) {
  auto const conv = [](std::int64_t in, std::int64_t out) { return nn::Conv2d{in, out, 3, {.padding = 1}}; };
  expect_gradients(
      nn::Sequential{conv(1, 5), nn::Tanh{},
                     nn::Residual{nn::Sequential{conv(5, 8), nn::Sigmoid{}, conv(8, 16)}, nn::Conv2d{5, 16, 1}},
                     nn::Residual{nn::Sequential{conv(16, 16), nn::Tanh{}}}, nn::AvgPool2d{2}, nn::Flatten{},
                     nn::Linear{64, 3}},
      {3, 1, 4, 4}, 3);
}

TEST(Gradients, OfSoftmaxInsideANetwork) {
  expect_gradients(nn::Sequential{nn::Linear{5, 6}, nn::Softmax{}, nn::Linear{6, 3}}, {7, 5}, 3);
}

}  // namespace
