#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <fleet/nn/onednn/executor.hpp>
#include <fleet/tensor/tensor.hpp>

namespace test {

/// A batch of whatever the loss needs.
struct Batch {
  fleet::Tensor<float> inputs;
  fleet::Tensor<std::int64_t> labels;
  fleet::Tensor<float> targets;
};

inline fleet::Tensor<float> tensor(fleet::Shape const& shape, std::vector<float> const& values) {
  fleet::Tensor<float> out{shape};
  std::copy(values.begin(), values.end(), out.data());
  return out;
}

/// Hands its input on; the gradient of its parameter is the gradient of that input.
struct Probe {
  fleet::Shape shape;
  std::string name = "probe";

  std::vector<fleet::nn::ParameterSpec> parameters() const { return {{"x", shape}}; }
  fleet::Shape output_shape(fleet::Shape const& input) const { return input; }
  void forward(fleet::nn::Forward const& data) const {
    for (std::size_t i = 0; i < data.input.size(); ++i) data.output[i] = data.input[i] + data.parameters[0][i];
  }
  void backward(fleet::nn::Backward const& data) const {
    std::copy(data.output_gradient.begin(), data.output_gradient.end(), data.parameter_gradients[0].begin());
  }
};

/// What one layer does: its result, and the gradients of sum(result * output_gradient),
/// that of the input under the name "x".
struct Passes {
  fleet::Shape shape;
  std::vector<float> result;
  std::map<std::string, std::vector<float>> gradients;
};

/// The mean of (y - t)^2 has the gradient 2 (y - t) / n: targets are picked so that it is `output_gradient`.
template <class Layer>
Passes run_layer(Layer const& layer, fleet::Tensor<float> const& input, std::vector<float> const& output_gradient,
                 std::map<std::string, std::vector<float>> const& parameters = {}) {
  fleet::nn::Executor executor{fleet::nn::Sequential{Probe{input.shape()}, layer}, fleet::nn::MeanSquaredError{}};
  for (auto& parameter : executor.parameters())
    for (auto const& [name, values] : parameters)
      if (parameter.name == "1." + name) std::copy(values.begin(), values.end(), parameter.value.begin());
  Batch batch{input, {}, {}};
  auto const output = executor.predict(batch);
  Passes passes{output.shape, {output.values.begin(), output.values.end()}, {}};
  batch.targets = tensor(output.shape, passes.result);
  for (std::size_t i = 0; i < output_gradient.size(); ++i)
    batch.targets[i] -= output_gradient[i] * static_cast<float>(output_gradient.size()) / 2;
  executor.forward_backward(batch);
  for (auto const& parameter : executor.parameters())
    passes.gradients[parameter.name == "probe.x" ? "x" : parameter.name.substr(2)] = {parameter.gradient.begin(),
                                                                                      parameter.gradient.end()};
  return passes;
}

}  // namespace test
