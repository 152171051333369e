#pragma once
#include <string>
#include <tuple>
#include <utility>

#include <fleet/nn/own_layer.hpp>

namespace fleet::nn {

/// Layers, one after the other. A value that only describes: `distribute` compiles it for a batch.
///   nn::Sequential{nn::Linear{784, 128}, nn::Tanh{}, nn::Linear{128, 10}}
template <class... Layers>
struct Sequential {
  static_assert((Layer<Layers> && ...),
                "fleet: Sequential holds something that is no layer. Use the layers of fleet::nn, or give your own "
                "`Shape output_shape(Shape)`, `forward(nn::Forward const&)` and `backward(nn::Backward const&)`.");

  std::tuple<Layers...> layers;
  std::string name{};

  constexpr explicit Sequential(Layers... layers_) : layers(std::move(layers_)...) {}
};

}  // namespace fleet::nn
