#pragma once
#include <concepts>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fleet/nn/fwd.hpp>
#include <fleet/nn/parameter_spec.hpp>
#include <fleet/tensor/shape.hpp>

namespace fleet::nn {

/// What a user's own layer is given to compute `output`, all of it. Everything is row-major.
struct Forward {
  Shape input_shape;
  std::span<float const> input;
  std::span<float> output;
  std::span<std::span<float const> const> parameters;  ///< in the order of the layer's `parameters()`
  bool training;
};

/// What it is given to compute `input_gradient` and `parameter_gradients`: to be written, all of them, not added to.
struct Backward {
  Shape input_shape;
  std::span<float const> input;
  std::span<float const> output;
  std::span<float const> output_gradient;
  std::span<float> input_gradient;  ///< empty where nobody needs it
  std::span<std::span<float const> const> parameters;
  std::span<std::span<float> const> parameter_gradients;
};

/// A user's own layer: `Shape output_shape(Shape)`, `forward(Forward const&)`, `backward(Backward const&)`; and, as it
/// likes, `std::vector<ParameterSpec> parameters()` and a member `std::string name`. All ranks describe it alike.
template <class L>
concept OwnLayer = requires(L& layer, Shape const& shape, Forward const& forward, Backward const& backward) {
  { layer.output_shape(shape) } -> std::convertible_to<Shape>;
  layer.forward(forward);
  layer.backward(backward);
};

/// What may stand in a network: a layer of fleet::nn or a user's own.
template <class L>
concept Layer = is_layer<L> || OwnLayer<L>;

/// A user's own layer whose type is forgotten.
class AnyLayer {
 public:
  virtual ~AnyLayer() = default;
  virtual Shape output_shape(Shape const& input) = 0;
  virtual std::vector<ParameterSpec> parameters() = 0;
  virtual void forward(Forward const&) = 0;
  virtual void backward(Backward const&) = 0;
};

namespace detail {

template <OwnLayer L>
class AnyLayerOf final : public AnyLayer {
 public:
  explicit AnyLayerOf(L layer) : layer_(std::move(layer)) {}
  Shape output_shape(Shape const& input) override { return layer_.output_shape(input); }
  std::vector<ParameterSpec> parameters() override {
    if constexpr (requires { layer_.parameters(); }) {
      static_assert(std::convertible_to<decltype(layer_.parameters()), std::vector<ParameterSpec>>,
                    "fleet: parameters() of a layer of your own gives something else. Return "
                    "std::vector<fleet::nn::ParameterSpec>.");
      return layer_.parameters();
    } else {
      return {};
    }
  }
  void forward(Forward const& data) override { layer_.forward(data); }
  void backward(Backward const& data) override { layer_.backward(data); }

 private:
  L layer_;
};

}  // namespace detail
}  // namespace fleet::nn
