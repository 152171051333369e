#pragma once
#include <algorithm>
#include <fleet/core/error.hpp>
#include <fleet/nn/graph.hpp>

namespace fleet::nn {
namespace detail {

inline std::string text_of(Pair const& pair) { return fleet::text(pair.height, "x", pair.width); }

struct TextOfOperation {
  std::string operator()(Linear const& layer) const {
    return fleet::text("Linear{", layer.in_features, ", ", layer.out_features, "}");
  }
  std::string operator()(Conv2d const& layer) const {
    return fleet::text("Conv2d{", layer.in_channels, ", ", layer.out_channels, ", ", text_of(layer.kernel), "}");
  }
  std::string operator()(MaxPool2d const& layer) const { return fleet::text("MaxPool2d{", text_of(layer.kernel), "}"); }
  std::string operator()(AvgPool2d const& layer) const { return fleet::text("AvgPool2d{", text_of(layer.kernel), "}"); }
  std::string operator()(ReLU const&) const { return "ReLU{}"; }
  std::string operator()(Tanh const&) const { return "Tanh{}"; }
  std::string operator()(Sigmoid const&) const { return "Sigmoid{}"; }
  std::string operator()(GELU const&) const { return "GELU{}"; }
  std::string operator()(Softmax const& layer) const { return fleet::text("Softmax{", layer.axis, "}"); }
  std::string operator()(Flatten const&) const { return "Flatten{}"; }
  std::string operator()(Dropout const& layer) const { return fleet::text("Dropout{", layer.probability, "}"); }
  std::string operator()(Add const&) const { return "the sum of a Residual"; }
  std::string operator()(std::shared_ptr<AnyLayer> const&) const { return "a layer of your own"; }
};

/// Throws ConfigurationError unless `good`.
inline void require(bool good, std::string const& layer, Operation const& operation, std::string_view setting,
                    std::string const& value, std::string_view range) {
  if (good) return;
  throw ConfigurationError(fleet::text("fleet: layer ", layer, ", ", text(operation), ", has ", setting, " ", value,
                                       "; it must be ", range));
}

/// Checks the settings of an operation and lists its parameters.
struct ParametersOfOperation {
  std::string const& name;
  Operation const& operation;

  void at_least(std::string_view setting, std::int64_t value, std::int64_t least) const {
    require(value >= least, name, operation, setting, fleet::text(value), fleet::text("at least ", least));
  }
  void at_least(std::string_view setting, Pair const& value, std::int64_t least) const {
    require(std::min(value.height, value.width) >= least, name, operation, setting, text_of(value),
            fleet::text("at least ", least, " on both axes"));
  }

  std::vector<ParameterSpec> operator()(Linear const& layer) const {
    at_least("in_features", layer.in_features, 1);
    at_least("out_features", layer.out_features, 1);
    std::vector<ParameterSpec> specs{{"weight", Shape{layer.out_features, layer.in_features},
                                      xavier_uniform(layer.in_features, layer.out_features)}};
    if (layer.options.bias) specs.push_back({"bias", Shape{layer.out_features}});
    return specs;
  }
  std::vector<ParameterSpec> operator()(Conv2d const& layer) const {
    auto const& [stride, padding, dilation, groups, bias, own] = layer.options;
    at_least("in_channels", layer.in_channels, 1);
    at_least("out_channels", layer.out_channels, 1);
    at_least("kernel", layer.kernel, 1);
    at_least("stride", stride, 1);
    at_least("padding", padding, 0);
    at_least("dilation", dilation, 1);
    at_least("groups", groups, 1);
    require(layer.in_channels % groups == 0 && layer.out_channels % groups == 0, name, operation, "groups",
            fleet::text(groups), "a divisor of both numbers of channels");
    auto const in = layer.in_channels / groups;
    std::vector<ParameterSpec> specs{{"weight", Shape{layer.out_channels, in, layer.kernel.height, layer.kernel.width},
                                      kaiming_uniform(in * layer.kernel.height * layer.kernel.width)}};
    if (bias) specs.push_back({"bias", Shape{layer.out_channels}});
    return specs;
  }
  std::vector<ParameterSpec> pool(Pair const& kernel, Pair const& stride, Pair const& padding) const {
    at_least("kernel", kernel, 1);
    at_least("stride", stride, 0);
    at_least("padding", padding, 0);
    require(2 * padding.height <= kernel.height && 2 * padding.width <= kernel.width, name, operation, "padding",
            text_of(padding), "at most half of the kernel, so that no window lies in the padding alone");
    return {};
  }
  std::vector<ParameterSpec> operator()(MaxPool2d const& layer) const {
    return pool(layer.kernel, layer.options.stride, layer.options.padding);
  }
  std::vector<ParameterSpec> operator()(AvgPool2d const& layer) const {
    return pool(layer.kernel, layer.options.stride, layer.options.padding);
  }
  std::vector<ParameterSpec> operator()(Dropout const& layer) const {
    require(layer.probability >= 0 && layer.probability < 1, name, operation, "probability",
            fleet::text(layer.probability), "in [0, 1)");
    return {};
  }
  std::vector<ParameterSpec> operator()(std::shared_ptr<AnyLayer> const& layer) const { return layer->parameters(); }
  template <class Other>
  std::vector<ParameterSpec> operator()(Other const&) const {
    return {};
  }
};

FLEET_BODY std::size_t append_operation(Graph& graph, std::string const& name, Operation operation,
                                        std::vector<std::size_t> inputs) {
  Node node{name, std::move(operation), std::move(inputs), {}};
  for (auto& spec : std::visit(ParametersOfOperation{name, node.operation}, node.operation)) {
    spec.name = below(name, spec.name);
    if (std::any_of(graph.parameters.begin(), graph.parameters.end(),
                    [&](auto& other) { return other.name == spec.name; }))
      throw ContractError(
          fleet::text("fleet: two parameters are called ", spec.name, "; give the layers different names, or none"));
    node.parameters.push_back(graph.parameters.size());
    graph.parameters.push_back(std::move(spec));
  }
  graph.nodes.push_back(std::move(node));
  return graph.nodes.size();
}

}  // namespace detail

FLEET_BODY std::string text(Operation const& operation) { return std::visit(detail::TextOfOperation{}, operation); }

}  // namespace fleet::nn
