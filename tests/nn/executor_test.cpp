#include <fleet/nn/onednn/executor.hpp>

#include <gtest/gtest.h>

#include <fleet/tensor/tensor.hpp>

namespace nn = fleet::nn;
namespace {
struct Batch {
  fleet::Tensor<float> inputs;
  fleet::Tensor<std::int64_t> labels;
};
TEST(Executor, Smoke) {
  nn::Executor executor{
      nn::Sequential{nn::Linear{784, 128}, nn::Tanh{}, nn::Linear{128, 128}, nn::ReLU{}, nn::Linear{128, 10}},
      nn::SoftmaxCrossEntropy{}};
  Batch batch{fleet::Tensor<float>{{64, 784}}, fleet::Tensor<std::int64_t>{{64}}};
  fleet::Random random{3};
  for (auto& x : batch.inputs.span()) x = random.uniform();
  for (auto& x : batch.labels.span()) x = static_cast<std::int64_t>(random.below(10));
  float first = 0, last = 0;
  for (int i = 0; i < 200; ++i) {
    last = executor.forward_backward(batch);
    if (i == 0) first = last;
    auto values = executor.flat_values(), gradients = executor.flat_gradients();
    for (std::size_t k = 0; k < values.size(); ++k) values[k] -= 0.1f * gradients[k];
  }
  EXPECT_NEAR(first, 2.3f, 0.5f);
  EXPECT_LT(last, 0.5f);
}
}  // namespace
