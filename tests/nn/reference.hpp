#pragma once
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include <fleet/nn/conv2d.hpp>
#include <fleet/nn/linear.hpp>
#include <fleet/nn/pool2d.hpp>
#include <fleet/tensor/shape.hpp>

/// Layers and their gradients in plain loops and double precision: slow, and easy to see right.
namespace test::reference {

using Values = std::vector<double>;

/// A result, and the gradients of sum(result * output_gradient).
struct Passes {
  fleet::Shape shape;
  Values result;
  Values input_gradient, weight_gradient, bias_gradient;
};

inline std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

/// Goes over every product x[input] * weight[..] that a convolution adds to y[output].
inline void for_each_product(
    fleet::nn::Conv2d const& layer, fleet::Shape const& in, fleet::Shape const& out,
    std::function<void(std::size_t output, std::size_t input, std::size_t weight)> const& call) {
  auto const& options = layer.options;
  auto const in_group = layer.in_channels / options.groups, out_group = layer.out_channels / options.groups;
  for (std::int64_t n = 0; n < out[0]; ++n)
    for (std::int64_t o = 0; o < out[1]; ++o)
      for (std::int64_t y = 0; y < out[2]; ++y)
        for (std::int64_t x = 0; x < out[3]; ++x)
          for (std::int64_t c = 0; c < in_group; ++c)
            for (std::int64_t i = 0; i < layer.kernel.height; ++i)
              for (std::int64_t j = 0; j < layer.kernel.width; ++j) {
                auto const row = y * options.stride.height - options.padding.height + i * options.dilation.height;
                auto const column = x * options.stride.width - options.padding.width + j * options.dilation.width;
                if (row < 0 || row >= in[2] || column < 0 || column >= in[3]) continue;
                auto const channel = o / out_group * in_group + c;
                call(at(((n * out[1] + o) * out[2] + y) * out[3] + x),
                     at(((n * in[1] + channel) * in[2] + row) * in[3] + column),
                     at(((o * in_group + c) * layer.kernel.height + i) * layer.kernel.width + j));
              }
}

inline std::int64_t extent(std::int64_t in, std::int64_t kernel, std::int64_t stride, std::int64_t padding,
                           std::int64_t dilation) {
  return (in + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
}

inline Passes conv2d(fleet::nn::Conv2d const& layer, fleet::Shape const& in, std::vector<float> const& x,
                     std::vector<float> const& weight, std::vector<float> const& bias,
                     std::function<std::vector<float>(fleet::Shape const&)> const& output_gradient) {
  auto const& options = layer.options;
  Passes passes;
  passes.shape = {
      in[0], layer.out_channels,
      extent(in[2], layer.kernel.height, options.stride.height, options.padding.height, options.dilation.height),
      extent(in[3], layer.kernel.width, options.stride.width, options.padding.width, options.dilation.width)};
  auto const gradient = output_gradient(passes.shape);
  passes.result.assign(passes.shape.count(), 0);
  passes.input_gradient.assign(in.count(), 0);
  passes.weight_gradient.assign(weight.size(), 0);
  passes.bias_gradient.assign(bias.size(), 0);
  auto const plane = at(passes.shape[2] * passes.shape[3]), channels = at(layer.out_channels);
  if (!bias.empty())
    for (std::size_t i = 0; i < passes.result.size(); ++i) {
      passes.result[i] = static_cast<double>(bias[i / plane % channels]);
      passes.bias_gradient[i / plane % channels] += static_cast<double>(gradient[i]);
    }
  for_each_product(layer, in, passes.shape, [&](std::size_t output, std::size_t input, std::size_t w) {
    auto const from = static_cast<double>(x[input]), by = static_cast<double>(weight[w]);
    auto const slope = static_cast<double>(gradient[output]);
    passes.result[output] += from * by;
    passes.input_gradient[input] += slope * by;
    passes.weight_gradient[w] += slope * from;
  });
  return passes;
}

template <class Pool>
fleet::nn::Pair stride_of(Pool const& layer) {
  auto const& stride = layer.options.stride;
  return stride == fleet::nn::Pair{0} ? layer.kernel : stride;
}

template <class Pool>
fleet::Shape pooled(Pool const& layer, fleet::Shape const& in) {
  auto const& options = layer.options;
  auto const one = [&](std::int64_t size, std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
    std::int64_t count = 0;
    for (std::int64_t start = -padding;; start += stride, ++count) {
      bool const whole = start + kernel <= size + padding;
      if (!whole && (!options.ceil_mode || start >= size)) return count;
      if (!whole && start - stride + kernel >= size + padding) return count;  // the one before reached the end
    }
  };
  return {in[0], in[1], one(in[2], layer.kernel.height, stride_of(layer).height, options.padding.height),
          one(in[3], layer.kernel.width, stride_of(layer).width, options.padding.width)};
}

/// Goes over the elements of each window, in order, with the place of the window.
template <class Pool>
void for_each_window(Pool const& layer, fleet::Shape const& in, fleet::Shape const& out,
                     std::function<void(std::size_t output, std::vector<std::size_t> const& inputs)> const& call) {
  auto const& padding = layer.options.padding;
  auto const stride = stride_of(layer);
  std::vector<std::size_t> inputs;
  for (std::int64_t plane = 0; plane < in[0] * in[1]; ++plane)
    for (std::int64_t y = 0; y < out[2]; ++y)
      for (std::int64_t x = 0; x < out[3]; ++x) {
        inputs.clear();
        for (std::int64_t i = 0; i < layer.kernel.height; ++i)
          for (std::int64_t j = 0; j < layer.kernel.width; ++j) {
            auto const row = y * stride.height - padding.height + i;
            auto const column = x * stride.width - padding.width + j;
            if (row >= 0 && row < in[2] && column >= 0 && column < in[3])
              inputs.push_back(at((plane * in[2] + row) * in[3] + column));
          }
        call(at((plane * out[2] + y) * out[3] + x), inputs);
      }
}

inline Passes max_pool2d(fleet::nn::MaxPool2d const& layer, fleet::Shape const& in, std::vector<float> const& x,
                         std::function<std::vector<float>(fleet::Shape const&)> const& output_gradient) {
  Passes passes;
  passes.shape = pooled(layer, in);
  auto const gradient = output_gradient(passes.shape);
  passes.result.assign(passes.shape.count(), 0);
  passes.input_gradient.assign(in.count(), 0);
  for_each_window(layer, in, passes.shape, [&](std::size_t output, std::vector<std::size_t> const& inputs) {
    auto best = inputs.at(0);
    for (auto const input : inputs)
      if (x[input] > x[best]) best = input;
    passes.result[output] = static_cast<double>(x[best]);
    passes.input_gradient[best] += static_cast<double>(gradient[output]);
  });
  return passes;
}

inline Passes avg_pool2d(fleet::nn::AvgPool2d const& layer, fleet::Shape const& in, std::vector<float> const& x,
                         std::function<std::vector<float>(fleet::Shape const&)> const& output_gradient) {
  Passes passes;
  passes.shape = pooled(layer, in);
  auto const gradient = output_gradient(passes.shape);
  passes.result.assign(passes.shape.count(), 0);
  passes.input_gradient.assign(in.count(), 0);
  for_each_window(layer, in, passes.shape, [&](std::size_t output, std::vector<std::size_t> const& inputs) {
    double const by = layer.options.exclusive ? static_cast<double>(inputs.size())
                                              : static_cast<double>(layer.kernel.height * layer.kernel.width);
    for (auto const input : inputs) {
      passes.result[output] += static_cast<double>(x[input]) / by;
      passes.input_gradient[input] += static_cast<double>(gradient[output]) / by;
    }
  });
  return passes;
}

inline Passes linear(fleet::nn::Linear const& layer, fleet::Shape const& in, std::vector<float> const& x,
                     std::vector<float> const& weight, std::vector<float> const& bias,
                     std::function<std::vector<float>(fleet::Shape const&)> const& output_gradient) {
  Passes passes;
  passes.shape = in;
  passes.shape[in.axes() - 1] = layer.out_features;
  auto const gradient = output_gradient(passes.shape);
  auto const ins = at(layer.in_features), outs = at(layer.out_features), rows = in.count() / ins;
  passes.result.assign(rows * outs, 0);
  passes.input_gradient.assign(rows * ins, 0);
  passes.weight_gradient.assign(weight.size(), 0);
  passes.bias_gradient.assign(bias.size(), 0);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t o = 0; o < outs; ++o) {
      auto const slope = static_cast<double>(gradient[r * outs + o]);
      double sum = bias.empty() ? 0 : static_cast<double>(bias[o]);
      if (!bias.empty()) passes.bias_gradient[o] += slope;
      for (std::size_t i = 0; i < ins; ++i) {
        auto const from = static_cast<double>(x[r * ins + i]), by = static_cast<double>(weight[o * ins + i]);
        sum += from * by;
        passes.input_gradient[r * ins + i] += slope * by;
        passes.weight_gradient[o * ins + i] += slope * from;
      }
      passes.result[r * outs + o] = sum;
    }
  return passes;
}

}  // namespace test::reference
