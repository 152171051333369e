#pragma once

namespace fleet::nn {

struct Pair;
struct Linear;
struct Conv2d;
struct MaxPool2d;
struct AvgPool2d;
struct ReLU;
struct Tanh;
struct Sigmoid;
struct GELU;
struct Softmax;
struct Flatten;
struct Dropout;
struct Identity;
template <class... Layers>
struct Sequential;
template <class Main, class Shortcut>
struct Residual;

struct SoftmaxCrossEntropy;
struct SigmoidCrossEntropy;
struct MeanSquaredError;

/// A compiled network; see <fleet/nn/executor.hpp>. An engine defines it: fleet::onednn with
/// <fleet/nn/onednn/executor.hpp>.
template <class Network, class Loss>
class Executor;

/// Whether fleet::nn itself has this layer.
template <class L>
inline constexpr bool is_layer = false;
template <>
inline constexpr bool is_layer<Linear> = true;
template <>
inline constexpr bool is_layer<Conv2d> = true;
template <>
inline constexpr bool is_layer<MaxPool2d> = true;
template <>
inline constexpr bool is_layer<AvgPool2d> = true;
template <>
inline constexpr bool is_layer<ReLU> = true;
template <>
inline constexpr bool is_layer<Tanh> = true;
template <>
inline constexpr bool is_layer<Sigmoid> = true;
template <>
inline constexpr bool is_layer<GELU> = true;
template <>
inline constexpr bool is_layer<Softmax> = true;
template <>
inline constexpr bool is_layer<Flatten> = true;
template <>
inline constexpr bool is_layer<Dropout> = true;
template <>
inline constexpr bool is_layer<Identity> = true;
template <class... Layers>
inline constexpr bool is_layer<Sequential<Layers...>> = true;
template <class Main, class Shortcut>
inline constexpr bool is_layer<Residual<Main, Shortcut>> = true;

/// Whether this is a loss of fleet::nn.
template <class L>
inline constexpr bool is_loss = false;
template <>
inline constexpr bool is_loss<SoftmaxCrossEntropy> = true;
template <>
inline constexpr bool is_loss<SigmoidCrossEntropy> = true;
template <>
inline constexpr bool is_loss<MeanSquaredError> = true;

}  // namespace fleet::nn
