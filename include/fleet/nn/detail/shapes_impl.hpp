#pragma once
#include <algorithm>
#include <fleet/core/error.hpp>
#include <fleet/nn/graph.hpp>

namespace fleet::nn {
namespace detail {

/// Infers the shape that one operation gives, or says what it would need.
class ShapeOfOperation {
 public:
  ShapeOfOperation(Graph const& graph, std::vector<Shape> const& shapes, Node const& node)
      : graph_(graph), shapes_(shapes), node_(node), input_(shapes[node.inputs[0]]) {}

  Shape operator()(Linear const& layer) const {
    if (input_.axes() < 2) refuse(fleet::text("[batch, ", layer.in_features, "]"), "give it one row a sample");
    auto const features = input_[input_.axes() - 1];
    if (features != layer.in_features) {
      if (static_cast<std::int64_t>(input_.row()) == layer.in_features)
        refuse(Shape{input_[0], layer.in_features}.text(), "put a Flatten{} before it");
      refuse(with_last(layer.in_features).text(),
             fleet::text("make it Linear{", features, ", ", layer.out_features, "}"));
    }
    return with_last(layer.out_features);
  }
  Shape operator()(Conv2d const& layer) const {
    auto const& options = layer.options;
    image(layer.in_channels);
    if (input_[1] != layer.in_channels)
      refuse(Shape{input_[0], layer.in_channels, input_[2], input_[3]}.text(),
             fleet::text("make it Conv2d{", input_[1], ", ", layer.out_channels, ", ...}"));
    auto const extent = [&](std::int64_t in, std::int64_t kernel, std::int64_t stride, std::int64_t padding,
                            std::int64_t dilation) {
      auto const room = in + 2 * padding - dilation * (kernel - 1) - 1;
      if (room < 0) refuse("an image at least as large as its kernel", "take a smaller kernel or more padding");
      return room / stride + 1;
    };
    return {
        input_[0], layer.out_channels,
        extent(input_[2], layer.kernel.height, options.stride.height, options.padding.height, options.dilation.height),
        extent(input_[3], layer.kernel.width, options.stride.width, options.padding.width, options.dilation.width)};
  }
  Shape operator()(MaxPool2d const& layer) const { return pool(layer); }
  Shape operator()(AvgPool2d const& layer) const { return pool(layer); }
  Shape operator()(Softmax const& layer) const {
    auto const axes = static_cast<std::int64_t>(input_.axes());
    if (layer.axis < -axes || layer.axis >= axes)
      refuse(fleet::text("a value with an axis ", layer.axis), "take an axis that it has");
    return input_;
  }
  Shape operator()(Flatten const&) const {
    if (input_.axes() < 1) refuse("[batch, ...]", "give it one row a sample");
    return {input_[0], static_cast<std::int64_t>(input_.row())};
  }
  Shape operator()(Add const&) const {
    auto const& other = shapes_[node_.inputs[1]];
    if (!(input_ == other))
      throw ContractError(fleet::text("fleet: the Residual ", node_.name, " adds ", input_.text(),
                                      " of its main path (", maker(0), ") and ", other.text(), " of its shortcut (",
                                      maker(1), "); give the shortcut a layer that makes both shapes equal"));
    return input_;
  }
  Shape operator()(std::shared_ptr<AnyLayer> const& layer) const { return layer->output_shape(input_); }
  template <class Elementwise>
  Shape operator()(Elementwise const&) const {
    return input_;
  }

 private:
  std::string maker(std::size_t input) const {
    auto const value = node_.inputs[input];
    if (value == 0) return "the batch";
    auto const& node = graph_.nodes[value - 1];
    return fleet::text("layer ", node.name, ", ", text(node.operation));
  }
  [[noreturn]] void refuse(std::string const& wanted, std::string const& remedy) const {
    throw ContractError(fleet::text("fleet: layer ", node_.name, ", ", text(node_.operation), ", takes ", wanted,
                                    ", but ", maker(0), node_.inputs[0] ? ", gives " : " gives ", input_.text(), "; ",
                                    remedy));
  }
  void image(std::int64_t channels) const {
    if (input_.axes() != 4)
      refuse(channels ? fleet::text("[batch, ", channels, ", height, width]") : "[batch, channels, height, width]",
             "give it images of four axes");
  }
  Shape with_last(std::int64_t extent) const {
    Shape shape = input_;
    shape[shape.axes() - 1] = extent;
    return shape;
  }
  template <class Pool>
  Shape pool(Pool const& layer) const {
    auto const& options = layer.options;
    image(0);
    auto const extent = [&](std::int64_t in, std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
      if (stride == 0) stride = kernel;
      auto const room = in + 2 * padding - kernel;
      if (room < 0) refuse("an image at least as large as its window", "take a smaller window or more padding");
      auto out = room / stride + 1;
      if (options.ceil_mode && room % stride != 0 && out * stride < in + padding) ++out;
      return out;
    };
    return {input_[0], input_[1], extent(input_[2], layer.kernel.height, options.stride.height, options.padding.height),
            extent(input_[3], layer.kernel.width, options.stride.width, options.padding.width)};
  }

  Graph const& graph_;
  std::vector<Shape> const& shapes_;
  Node const& node_;
  Shape const& input_;
};

}  // namespace detail

FLEET_BODY std::vector<Shape> infer_shapes(Graph const& graph, Shape const& input) {
  std::vector<Shape> shapes{input};
  shapes.reserve(graph.nodes.size() + 1);
  for (auto const& node : graph.nodes)
    shapes.push_back(std::visit(detail::ShapeOfOperation{graph, shapes, node}, node.operation));
  return shapes;
}

}  // namespace fleet::nn
