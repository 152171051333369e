// Whole networks against the right values of tests/golden: the first step in full, shares of a batch, a training run.
#include "nn/probe.hpp"
#include "support/golden.hpp"

namespace nn = fleet::nn;

namespace {

using test::Json;
using Names = std::vector<std::pair<std::string, std::string>>;  // ours, and that of the file

test::Batch batch_of(Json const& x, Json const& y) {
  test::Batch batch{test::tensor(test::shape(x), test::floats(x)), {}, {}};
  auto const labels = (y.is_object() ? y.at("data") : y).get<std::vector<std::int64_t>>();
  batch.labels.reshape({static_cast<std::int64_t>(labels.size())});
  std::copy(labels.begin(), labels.end(), batch.labels.data());
  return batch;
}

/// Rows [first, first + count) of a batch.
test::Batch share(test::Batch const& batch, std::int64_t first, std::int64_t count) {
  auto shape = batch.inputs.shape();
  auto const row = static_cast<std::int64_t>(shape.row());
  shape[0] = count;
  test::Batch part{fleet::Tensor<float>{shape}, fleet::Tensor<std::int64_t>{{count}}, {}};
  std::copy_n(batch.inputs.data() + first * row, count * row, part.inputs.data());
  std::copy_n(batch.labels.data() + first, count, part.labels.data());
  return part;
}

template <class Executor>
fleet::Parameter& parameter(Executor& executor, std::string const& name) {
  for (auto& each : executor.parameters())
    if (each.name == name) return each;
  throw std::runtime_error("no parameter " + name);
}

template <class Executor>
void expect_step(Executor& executor, test::Batch const& batch, Json const& expected, Names const& names,
                 test::Tolerance tolerance, std::string const& what) {
  float const loss = executor.forward_backward(batch);
  test::expect_close(std::vector{loss}, Json::array({expected.at("loss")}), tolerance, what + ", loss");
  for (auto const& [ours, theirs] : names)
    test::expect_close(parameter(executor, ours).gradient, expected.at("gradients").at(theirs), tolerance,
                       what + ", gradient of " + ours);
}

template <class Network>
void check(Network const& network, std::string const& name, Names const& names) {
  auto const file = test::golden("nn_networks.json");
  test::Tolerance const tolerance{file};
  bool found = false;
  for (auto const& each : file.at("cases")) {
    if (each.at("name") != name) continue;
    found = true;
    nn::Executor executor{network, nn::SoftmaxCrossEntropy{}};
    for (auto const& [ours, theirs] : names) {
      auto const values = test::floats(each.at("parameters").at(theirs));
      std::copy(values.begin(), values.end(), parameter(executor, ours).value.begin());
    }
    std::vector<test::Batch> batches;
    for (auto const& batch : each.at("batches")) batches.push_back(batch_of(batch.at("x"), batch.at("y")));
    test::expect_close(executor.predict(batches[0]).values, each.at("first_step").at("output"), tolerance, "output");
    expect_step(executor, batches[0], each.at("first_step"), names, tolerance, name + ", first step");

    auto const& shares = each.at("shares_of_first_batch");
    auto const rows = batches[0].inputs.shape()[0] / static_cast<std::int64_t>(shares.size());
    for (std::size_t i = 0; i < shares.size(); ++i)
      expect_step(executor, share(batches[0], static_cast<std::int64_t>(i) * rows, rows), shares[i], names, tolerance,
                  fleet::text(name, ", share ", i));

    auto const& training = each.at("training");
    auto const rate = training.at("settings").at("learning_rate").get<float>();
    auto const momentum = training.at("settings").value("momentum", 0.0f);
    ASSERT_TRUE(training.at("optimizer") == "sgd" || training.at("optimizer") == "momentum");
    std::vector<float> velocity(executor.flat_values().size());
    std::vector<float> losses;
    for (std::size_t step = 0; step < training.at("losses").size(); ++step) {
      losses.push_back(executor.forward_backward(batches[step % batches.size()]));
      for (std::size_t i = 0; i < velocity.size(); ++i) {
        velocity[i] = momentum * velocity[i] + executor.flat_gradients()[i];
        executor.flat_values()[i] -= rate * velocity[i];
      }
    }
    test::expect_close(losses, training.at("losses"), tolerance, name + ", losses");
    for (auto const& [ours, theirs] : names)
      test::expect_close(parameter(executor, ours).value, training.at("final_parameters").at(theirs), tolerance,
                         name + ", final " + ours);
  }
  EXPECT_TRUE(found);
}

TEST(Networks, PerceptronGivesTheGoldenValues) {
  check(nn::Sequential{nn::Linear{6, 8}, nn::Tanh{}, nn::Linear{8, 4}}, "mlp",
        {{"0.weight", "w1"}, {"0.bias", "b1"}, {"2.weight", "w2"}, {"2.bias", "b2"}});
}

TEST(Networks, LenetGivesTheGoldenValues) {
  check(nn::Sequential{nn::Conv2d{1, 3, 5, {.padding = 2, .name = "conv1"}}, nn::ReLU{}, nn::MaxPool2d{2},
                       nn::Conv2d{3, 4, 5, {.padding = 2, .name = "conv2"}}, nn::ReLU{}, nn::MaxPool2d{2},
                       nn::Flatten{}, nn::Linear{16, 10, {.name = "fc"}}},
        "lenet",
        {{"conv1.weight", "conv1_w"},
         {"conv1.bias", "conv1_b"},
         {"conv2.weight", "conv2_w"},
         {"conv2.bias", "conv2_b"},
         {"fc.weight", "fc_w"},
         {"fc.bias", "fc_b"}});
}

}  // namespace
