// The losses against the right values of tests/golden, and what they refuse.
#include <fleet/nn/loss.hpp>

#include "nn/probe.hpp"
#include "support/golden.hpp"

namespace nn = fleet::nn;

namespace {

using test::Json;

struct Result {
  float loss;
  std::vector<float> gradient;
};

template <class Loss>
Result run(Loss const& loss, test::Batch const& batch, float scale = 1) {
  nn::Executor executor{nn::Sequential{test::Probe{batch.inputs.shape()}}, loss};
  float const value = executor.forward_backward(batch, fleet::LossScale{scale});
  auto const gradient = executor.parameters()[0].gradient;
  return {value, {gradient.begin(), gradient.end()}};
}

Result run(Json const& each, test::Batch const& batch, float scale) {
  auto const layer = each.at("layer").get<std::string>();
  auto const& settings = each.at("attributes");
  if (layer == "softmax_cross_entropy") {
    nn::SoftmaxCrossEntropy loss{.label_smoothing = settings.at("label_smoothing").get<float>()};
    if (!settings.at("ignore_label").is_null()) loss.ignore_label = settings.at("ignore_label").get<std::int64_t>();
    return run(loss, batch, scale);
  }
  if (layer == "sigmoid_cross_entropy")
    return run(nn::SigmoidCrossEntropy{settings.at("reduction") == "sum" ? nn::Reduction::sum : nn::Reduction::mean},
               batch, scale);
  EXPECT_EQ(layer, "mse");
  return run(nn::MeanSquaredError{}, batch, scale);
}

TEST(Losses, GoldenValuesAndGradients) {
  auto const file = test::golden("nn_losses.json");
  test::Tolerance const tolerance{file};
  for (auto const& each : file.at("cases")) {
    auto const what = each.at("name").get<std::string>();
    auto const& inputs = each.at("inputs");
    auto const name = inputs.contains("x") ? "x" : "logits";
    test::Batch batch{test::tensor(test::shape(inputs.at(name)), test::floats(inputs.at(name))), {}, {}};
    if (inputs.contains("labels")) {
      auto const& labels = inputs.at("labels");
      auto const values = (labels.is_object() ? labels.at("data") : labels).get<std::vector<std::int64_t>>();
      batch.labels.reshape({static_cast<std::int64_t>(values.size())});
      std::copy(values.begin(), values.end(), batch.labels.data());
    }
    if (inputs.contains("target"))
      batch.targets = test::tensor(batch.inputs.shape(), test::floats(inputs.at("target")));
    auto const scale = test::floats(each.at("output_gradients").at("loss"))[0];
    auto const result = run(each, batch, scale);
    test::expect_close(std::vector{result.loss}, each.at("outputs").at("loss"), tolerance, what);
    test::expect_close(result.gradient, each.at("gradients").at(name), tolerance, what);
  }
}

test::Batch rows(std::vector<std::int64_t> const& labels, std::int64_t classes) {
  auto const count = static_cast<std::int64_t>(labels.size());
  test::Batch batch{fleet::Tensor<float>{{count, classes}}, fleet::Tensor<std::int64_t>{{count}}, {}};
  std::copy(labels.begin(), labels.end(), batch.labels.data());
  return batch;
}

TEST(Losses, ManyClassesGiveTheLogarithmOfTheirNumber) {
  auto const result = run(nn::SoftmaxCrossEntropy{}, rows({0, 1022, 7}, 1023));
  EXPECT_NEAR(result.loss, std::log(1023.0), 1e-5);
}

TEST(Losses, NotANumberIsNotHidden) {
  auto batch = rows({0, 1}, 3);
  batch.inputs[1] = std::numeric_limits<float>::quiet_NaN();
  auto const result = run(nn::SoftmaxCrossEntropy{}, batch);
  EXPECT_TRUE(std::isnan(result.loss));
  EXPECT_TRUE(std::isnan(result.gradient[1]));
}

template <class Function>
std::string message(Function const& function) {
  try {
    function();
  } catch (fleet::ContractError const& error) {
    return error.what();
  }
  return "nothing thrown";
}

TEST(Losses, LabelsOutsideTheRangeAreNamed) {
  EXPECT_EQ(message([] {
              run(nn::SoftmaxCrossEntropy{}, rows({0, 3}, 3));
            }),
            "fleet: label 3 of row 1 is not in [0, 3): the network gives 3 logits a row; widen its last layer or mend "
            "the labels");
  EXPECT_NE(message([] {
              run(nn::SoftmaxCrossEntropy{}, rows({-1, 0}, 3));
            }).find("label -1 of row 0"),
            std::string::npos);
}

TEST(Losses, CountsThatDifferAreNamed) {
  auto batch = rows({0, 1}, 3);
  batch.labels.reshape({1});
  EXPECT_NE(message([&] { run(nn::SoftmaxCrossEntropy{}, batch); }).find("2 rows of logits and 1 labels"),
            std::string::npos);
  EXPECT_NE(message([&] { run(nn::MeanSquaredError{}, batch); }).find("[2, 3] of the network and 0 targets"),
            std::string::npos);
}

}  // namespace
