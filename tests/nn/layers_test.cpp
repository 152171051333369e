// Every layer against the right values of tests/golden: results and all gradients.
#include <algorithm>
#include <functional>
#include <map>

#include "nn/probe.hpp"
#include "support/golden.hpp"

namespace nn = fleet::nn;

namespace {

using test::Json;
using Parameters = std::map<std::string, std::vector<float>>;

nn::Pair pair(Json const& value) { return {value[0].get<std::int64_t>(), value[1].get<std::int64_t>()}; }

nn::Linear linear(Json const& settings) {
  return {settings.at("in_features"), settings.at("out_features"), {.bias = settings.at("bias")}};
}

nn::Conv2d conv2d(Json const& settings) {
  return {settings.at("in_channels"),
          settings.at("out_channels"),
          pair(settings.at("kernel")),
          {.stride = pair(settings.at("stride")),
           .padding = pair(settings.at("padding")),
           .dilation = pair(settings.at("dilation")),
           .groups = settings.at("groups"),
           .bias = settings.at("bias")}};
}

nn::MaxPool2d max_pool(Json const& settings) {
  return {pair(settings.at("kernel")),
          {.stride = pair(settings.at("stride")),
           .padding = pair(settings.at("padding")),
           .ceil_mode = settings.at("ceil_mode")}};
}

nn::AvgPool2d avg_pool(Json const& settings) {
  return {pair(settings.at("kernel")),
          {.stride = pair(settings.at("stride")),
           .padding = pair(settings.at("padding")),
           .ceil_mode = settings.at("ceil_mode"),
           .exclusive = settings.at("exclusive")}};
}

using Runner =
    std::function<test::Passes(Json const&, fleet::Tensor<float> const&, std::vector<float> const&, Parameters const&)>;

/// How a layer of that name is made and run.
template <class Make>
Runner runner(Make make) {
  return [make](Json const& settings, fleet::Tensor<float> const& x, std::vector<float> const& dy,
                Parameters const& parameters) { return test::run_layer(make(settings), x, dy, parameters); };
}

std::map<std::string, Runner> const& runners() {
  static std::map<std::string, Runner> const all{
      {"linear", runner(linear)},
      {"conv2d", runner(conv2d)},
      {"max_pool2d", runner(max_pool)},
      {"avg_pool2d", runner(avg_pool)},
      {"relu", runner([](Json const&) { return nn::ReLU{}; })},
      {"tanh", runner([](Json const&) { return nn::Tanh{}; })},
      {"sigmoid", runner([](Json const&) { return nn::Sigmoid{}; })},
      {"gelu", runner([](Json const&) { return nn::GELU{}; })},
      {"softmax", runner([](Json const& settings) { return nn::Softmax{settings.at("axis")}; })},
  };
  return all;
}

class GoldenLayers : public testing::TestWithParam<char const*> {};

TEST_P(GoldenLayers, ResultsAndGradients) {
  auto const file = test::golden(GetParam());
  test::Tolerance const tolerance{file};
  ASSERT_FALSE(file.at("cases").empty());
  for (auto const& each : file.at("cases")) {
    auto const what = each.at("name").get<std::string>();
    auto const& x = each.at("inputs").at("x");
    Parameters parameters;
    if (each.contains("parameters"))
      for (auto const& [name, tensor] : each.at("parameters").items()) parameters[name] = test::floats(tensor);
    auto const passes =
        runners().at(each.at("layer"))(each.at("attributes"), test::tensor(test::shape(x), test::floats(x)),
                                       test::floats(each.at("output_gradients").at("y")), parameters);
    EXPECT_EQ(passes.shape, test::shape(each.at("outputs").at("y"))) << what;
    test::expect_close(passes.result, each.at("outputs").at("y"), tolerance, what);
    for (auto const& [name, gradient] : each.at("gradients").items())
      test::expect_close(passes.gradients.at(name), gradient, tolerance, what + ", gradient of " + name);
  }
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenLayers,
                         testing::Values("nn_linear.json", "nn_conv2d.json", "nn_pool2d.json", "nn_activations.json"));

}  // namespace
