#pragma once
#include <algorithm>
#include <fleet/core/vectorize.hpp>
#include <fleet/nn/onednn/detail/lowering.hpp>
#include <type_traits>

namespace fleet::nn::onednn::detail {

/// Turns the gradient of y = f(x) into that of x.
template <Activation activation, class T>
[[gnu::always_inline]] inline void derive(T& y, T& gradient) {
  if constexpr (activation == Activation::relu) gradient = y > T{} ? gradient : T{};
  if constexpr (activation == Activation::tanh) gradient *= 1 - y * y;
  if constexpr (activation == Activation::sigmoid) gradient *= y * (1 - y);
}

/// Calls `function` with the activation as a constant.
template <class Function>
void with_activation(Activation activation, Function const& function) {
  switch (activation) {
    case Activation::none:
      return function(std::integral_constant<Activation, Activation::none>{});
    case Activation::relu:
      return function(std::integral_constant<Activation, Activation::relu>{});
    case Activation::tanh:
      return function(std::integral_constant<Activation, Activation::tanh>{});
    case Activation::sigmoid:
      return function(std::integral_constant<Activation, Activation::sigmoid>{});
  }
}

FLEET_BODY void activation_backward(Activation activation, float const* result, float* gradient, std::size_t count) {
  with_activation(activation, [=](auto constant) {
    for_each_vector(
        count, [](auto& y, auto& g) { derive<decltype(constant)::value>(y, g); }, result, gradient);
  });
}

FLEET_BODY void activation_backward(Activation activation, float const* result, float* gradient, float* sums,
                                    std::size_t rows, std::size_t columns) {
  if (!sums) return activation_backward(activation, result, gradient, rows * columns);
  std::fill_n(sums, columns, 0.0f);
  with_activation(activation, [=](auto constant) {
    for (std::size_t row = 0; row < rows; ++row) {
      auto const* const y = result + row * columns;
      auto* const g = gradient + row * columns;
      if constexpr (decltype(constant)::value == Activation::none)
        for_each_vector(
            columns, [](auto& from, auto& sum) { sum += from; }, static_cast<float const*>(g), sums);
      else
        for_each_vector(
            columns,
            [](auto& from, auto& to, auto& sum) {
              derive<decltype(constant)::value>(from, to);
              sum += to;
            },
            y, g, sums);
    }
  });
}

/// An activation on its own: oneDNN forwards; backwards from the result where it tells the derivative.
class ActivationOp final : public Op {
 public:
  ActivationOp(Lowering& lowering, Activation activation, dnnl::algorithm algorithm, Value const& input,
               Value const& output)
      : buffers_(lowering.buffers()), activation_(activation), output_(output) {
    auto const kind = lowering.training() ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
    auto const description =
        compat::eltwise_forward(lowering.engine(), kind, algorithm, input.desc, lowering.attributes());
    auto const source = buffers_.memory(input.desc, input.data);
    forward_ = lowering.primitive(description,
                                  {{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, buffers_.memory(output.desc, output.data)}},
                                  lowering.forward_now());
    bool const from_result = activation != Activation::none;
    lowering.reads(input, !from_result && output.wants_gradient());
    if (!output.wants_gradient()) return;
    lowering.uses_gradients(input, output);
    if (from_result) {
      buffers_.use(output.data, lowering.backward_now());
      return;
    }
    auto const gradient = buffers_.memory(output.desc, output.gradient);
    auto const derivative =
        compat::eltwise_backward(lowering.engine(), algorithm, input.desc, description, lowering.attributes());
    backward_ = lowering.primitive(
        derivative, {{DNNL_ARG_SRC, source}, {DNNL_ARG_DIFF_DST, gradient}, {DNNL_ARG_DIFF_SRC, gradient}},
        lowering.backward_now());
  }

  void forward(Run& run) override { forward_.execute(run.stream); }
  void backward(Run& run) override {
    if (backward_)
      backward_.execute(run.stream);
    else if (output_.wants_gradient())
      activation_backward(activation_, buffers_.data(output_.data), buffers_.data(output_.gradient),
                          output_.desc.get_size() / sizeof(float));
  }

 private:
  Buffers& buffers_;
  Activation activation_;
  Value output_;
  Primitive forward_, backward_;
};

inline Value lower_activation(Lowering& lowering, Activation activation, dnnl::algorithm algorithm,
                              Value const& input) {
  auto output = lowering.make(input.desc, input.wants_gradient());
  output.overwrites_gradient = true;
  if (output.wants_gradient()) lowering.buffers().merge(input.gradient, output.gradient);
  lowering.add<ActivationOp>(lowering, activation, algorithm, input, output);
  return output;
}

FLEET_BODY Value lower(Lowering& lowering, Item const&, ReLU const&, std::vector<Value> const& inputs) {
  return lower_activation(lowering, Activation::relu, dnnl::algorithm::eltwise_relu, inputs[0]);
}
FLEET_BODY Value lower(Lowering& lowering, Item const&, Tanh const&, std::vector<Value> const& inputs) {
  return lower_activation(lowering, Activation::tanh, dnnl::algorithm::eltwise_tanh, inputs[0]);
}
FLEET_BODY Value lower(Lowering& lowering, Item const&, Sigmoid const&, std::vector<Value> const& inputs) {
  return lower_activation(lowering, Activation::sigmoid, dnnl::algorithm::eltwise_logistic, inputs[0]);
}
FLEET_BODY Value lower(Lowering& lowering, Item const&, GELU const&, std::vector<Value> const& inputs) {
  return lower_activation(lowering, Activation::none, dnnl::algorithm::eltwise_gelu_erf, inputs[0]);
}

}  // namespace fleet::nn::onednn::detail
