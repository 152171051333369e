#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <fleet/core/config.hpp>
#include <fleet/nn/activation.hpp>
#include <fleet/nn/conv2d.hpp>
#include <fleet/nn/dropout.hpp>
#include <fleet/nn/flatten.hpp>
#include <fleet/nn/linear.hpp>
#include <fleet/nn/own_layer.hpp>
#include <fleet/nn/parameter_spec.hpp>
#include <fleet/nn/pool2d.hpp>
#include <fleet/nn/residual.hpp>
#include <fleet/nn/sequential.hpp>

namespace fleet::nn {

/// The sum of two values: the end of a Residual.
struct Add {};

using Operation = std::variant<Linear, Conv2d, MaxPool2d, AvgPool2d, ReLU, Tanh, Sigmoid, GELU, Softmax, Flatten,
                               Dropout, Add, std::shared_ptr<AnyLayer>>;

/// One operation of a network. It makes value `i + 1`, where i is its place in the graph; value 0 is the input.
struct Node {
  std::string name;  ///< the way to it: "3", "conv1", "4.main.0"
  Operation operation;
  std::vector<std::size_t> inputs;      ///< values
  std::vector<std::size_t> parameters;  ///< places in Graph::parameters
};

/// A network whose types are forgotten: what a backend compiles. Each operation stands after those it reads.
struct Graph {
  std::vector<Node> nodes;
  std::vector<ParameterSpec> parameters;  ///< under their full names, which are unique
  std::size_t output = 0;                 ///< a value
};

/// "Conv2d{1, 20, 5x5}"
std::string text(Operation const& operation);

/// The shape of every value, the input's first. Throws ContractError, naming both layers, both shapes and the remedy,
/// where an operation cannot take what it is given.
std::vector<Shape> infer_shapes(Graph const& graph, Shape const& input);

namespace detail {

/// Adds an operation and the parameters it asks for. Throws ConfigurationError for settings that cannot work, and
/// ContractError for a name that is taken.
std::size_t append_operation(Graph& graph, std::string const& name, Operation operation,
                             std::vector<std::size_t> inputs);

inline std::string below(std::string const& name, std::string const& child) {
  return name.empty() ? child : name + "." + child;
}

template <class L>
std::string own_name(L const& layer) {
  if constexpr (requires { layer.options.name; })
    return layer.options.name;
  else if constexpr (requires { std::string{layer.name}; })
    return std::string{layer.name};
  else
    return {};
}

template <class L>
std::size_t append(Graph& graph, std::string const& name, L const& layer, std::size_t input) {
  if constexpr (is_layer<L>)
    return append_operation(graph, name, Operation{layer}, {input});
  else
    return append_operation(graph, name, Operation{std::shared_ptr<AnyLayer>{std::make_shared<AnyLayerOf<L>>(layer)}},
                            {input});
}

inline std::size_t append(Graph&, std::string const&, Identity const&, std::size_t input) { return input; }

template <class... Layers>
std::size_t append(Graph& graph, std::string const& name, Sequential<Layers...> const& layers, std::size_t input);

template <class Main, class Shortcut>
std::size_t append(Graph& graph, std::string const& name, Residual<Main, Shortcut> const& layer, std::size_t input) {
  auto const main = append(graph, below(name, "main"), layer.main, input);
  auto const shortcut = append(graph, below(name, "shortcut"), layer.shortcut, input);
  return append_operation(graph, name, Operation{Add{}}, {main, shortcut});
}

template <class... Layers>
std::size_t append(Graph& graph, std::string const& name, Sequential<Layers...> const& layers, std::size_t input) {
  std::size_t place = 0, value = input;
  auto const one = [&](auto const& layer) {
    auto const given = own_name(layer);
    value = append(graph, below(name, given.empty() ? fleet::text(place) : given), layer, value);
    ++place;
  };
  std::apply([&](auto const&... each) { (one(each), ...); }, layers.layers);
  return value;
}

}  // namespace detail

/// The graph of a network. Layers without a name are called after their place, so that parameters are called
/// "0.weight", "conv1.bias" or "4.main.0.weight"; every rank that describes the same network gets the same names.
template <Layer Network>
Graph describe(Network const& network) {
  Graph graph;
  graph.output = detail::append(graph, detail::own_name(network), network, 0);
  return graph;
}

}  // namespace fleet::nn

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/nn/detail/graph_impl.hpp>   // IWYU pragma: export
#include <fleet/nn/detail/shapes_impl.hpp>  // IWYU pragma: export
#endif
