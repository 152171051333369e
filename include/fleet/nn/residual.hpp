#pragma once
#include <string>

#include <fleet/nn/own_layer.hpp>

namespace fleet::nn {

/// Hands its input on.
struct Identity {
  std::string name{};
};

/// main(x) + shortcut(x); both give the same shape. Parameters are called "<name>.main...." and "<name>.shortcut....".
///   nn::Residual{nn::Sequential{...}}                             the shortcut is x itself
///   nn::Residual{nn::Sequential{...}, nn::Conv2d{64, 128, 1}}
template <class Main, class Shortcut = Identity>
struct Residual {
  static_assert(Layer<Main> && Layer<Shortcut>,
                "fleet: Residual takes two layers. Use those of fleet::nn, or give your own "
                "`Shape output_shape(Shape)`, `forward(nn::Forward const&)` and `backward(nn::Backward const&)`.");
  Main main;
  Shortcut shortcut{};
  std::string name{};
};
template <class Main>
Residual(Main) -> Residual<Main>;
template <class Main, class Shortcut>
Residual(Main, Shortcut) -> Residual<Main, Shortcut>;

}  // namespace fleet::nn
