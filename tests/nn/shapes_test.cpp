// Layers that do not fit are named, with both shapes and a remedy, before anything runs.
#include <gtest/gtest.h>

#include "nn/probe.hpp"

namespace nn = fleet::nn;

namespace {

template <class Error = fleet::ContractError, class Function>
std::string message(Function const& function) {
  try {
    function();
  } catch (Error const& error) {
    return error.what();
  }
  return "nothing thrown";
}

/// Runs a network on a batch of zeros.
template <class Network>
std::string refused(Network const& network, fleet::Shape const& shape) {
  return message([&] {
    nn::Executor executor{network, nn::SoftmaxCrossEntropy{}};
    test::Batch batch{fleet::Tensor<float>{shape}, fleet::Tensor<std::int64_t>{{shape[0]}}, {}};
    executor.forward_backward(batch);
  });
}

TEST(Shapes, ALinearThatDoesNotFit) {
  EXPECT_EQ(refused(nn::Sequential{nn::Flatten{}, nn::Linear{100, 10}}, {2, 1, 28, 28}),
            "fleet: layer 1, Linear{100, 10}, takes [2, 100], but layer 0, Flatten{}, gives [2, 784]; make it "
            "Linear{784, 10}");
  EXPECT_EQ(refused(nn::Sequential{nn::Linear{100, 10, {.name = "fc"}}}, {2, 90}),
            "fleet: layer fc, Linear{100, 10}, takes [2, 100], but the batch gives [2, 90]; make it Linear{90, 10}");
}

TEST(Shapes, AFlattenThatIsMissing) {
  EXPECT_EQ(refused(nn::Sequential{nn::MaxPool2d{2}, nn::Linear{196, 10}}, {2, 1, 28, 28}),
            "fleet: layer 1, Linear{196, 10}, takes [2, 196], but layer 0, MaxPool2d{2x2}, gives [2, 1, 14, 14]; put a "
            "Flatten{} before it");
}

TEST(Shapes, AConvolutionThatDoesNotFit) {
  EXPECT_EQ(refused(nn::Sequential{nn::Conv2d{1, 20, 5}, nn::ReLU{}, nn::Conv2d{10, 20, 5}}, {2, 1, 28, 28}),
            "fleet: layer 2, Conv2d{10, 20, 5x5}, takes [2, 10, 24, 24], but layer 1, ReLU{}, gives [2, 20, 24, 24]; "
            "make it Conv2d{20, 20, ...}");
  EXPECT_NE(refused(nn::Sequential{nn::Conv2d{1, 20, 5}}, {2, 784}).find("takes [batch, 1, height, width]"),
            std::string::npos);
  EXPECT_NE(refused(nn::Sequential{nn::Conv2d{1, 20, {5, 1}}}, {2, 1, 4, 9}).find("take a smaller kernel"),
            std::string::npos);
  EXPECT_NE(refused(nn::Sequential{nn::MaxPool2d{5}}, {2, 1, 4, 9}).find("take a smaller window"), std::string::npos);
}

TEST(Shapes, PathsOfAResidualThatDiffer) {
  EXPECT_EQ(
      refused(nn::Sequential{nn::Residual{nn::Sequential{nn::Linear{4, 5}}}}, {2, 4}),
      "fleet: the Residual 0 adds [2, 5] of its main path (layer 0.main.0, Linear{4, 5}) and [2, 4] of its shortcut "
      "(the batch); give the shortcut a layer that makes both shapes equal");
}

TEST(Shapes, AnAxisThatIsNotThere) {
  EXPECT_NE(refused(nn::Sequential{nn::Softmax{2}}, {2, 4}).find("Softmax{2}"), std::string::npos);
}

TEST(Shapes, SettingsThatCannotWork) {
  auto const refused_setting = [](auto const& layer) {
    return message<fleet::ConfigurationError>([&] { nn::Executor{nn::Sequential{layer}, nn::MeanSquaredError{}}; });
  };
  EXPECT_EQ(refused_setting(nn::Conv2d{4, 6, 3, {.groups = 4}}),
            "fleet: layer 0, Conv2d{4, 6, 3x3}, has groups 4; it must be a divisor of both numbers of channels");
  EXPECT_EQ(refused_setting(nn::Conv2d{4, 6, 3, {.stride = {1, 0}}}),
            "fleet: layer 0, Conv2d{4, 6, 3x3}, has stride 1x0; it must be at least 1 on both axes");
  EXPECT_EQ(refused_setting(nn::Dropout{1.0f}), "fleet: layer 0, Dropout{1}, has probability 1; it must be in [0, 1)");
  EXPECT_EQ(refused_setting(nn::Linear{0, 6}),
            "fleet: layer 0, Linear{0, 6}, has in_features 0; it must be at least 1");
  EXPECT_NE(refused_setting(nn::MaxPool2d{2, {.padding = 2}}).find("at most half of the kernel"), std::string::npos);
}

TEST(Shapes, TwoParametersOfOneName) {
  EXPECT_EQ(message([] {
              nn::Executor{nn::Sequential{nn::Linear{2, 2, {.name = "fc"}}, nn::Linear{2, 2, {.name = "fc"}}},
                           nn::MeanSquaredError{}};
            }),
            "fleet: two parameters are called fc.weight; give the layers different names, or none");
}

}  // namespace
