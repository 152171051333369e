#pragma once
#include <span>
#include <string>
#include <utility>

#include <fleet/tensor/shape.hpp>

namespace fleet {

/// Where one trained tensor lies: its value and its gradient, of equal size, in memory that the model owns and that
/// stays where it is for the life of the trainer. The name is the identity over the ranks: every rank lists the same
/// names, shapes and flags in the same order.
struct Parameter {
  std::string name;
  std::span<float> value;
  std::span<float> gradient;
  Shape shape;               ///< its number of elements is the size of `value`
  bool trainable = true;     ///< false: frozen; neither reduced nor updated while it is false
  bool distributed = false;  ///< true: each rank holds a part of its own (model parallelism), so it is never reduced

  Parameter() = default;
  /// A vector of `value.size()` elements.
  Parameter(std::string name_, std::span<float> value_, std::span<float> gradient_)
      : Parameter(std::move(name_), value_, gradient_, Shape{static_cast<std::int64_t>(value_.size())}) {}
  /// Throws ContractError if value, gradient and shape differ in size.
  Parameter(std::string name_, std::span<float> value_, std::span<float> gradient_, Shape const& shape_)
      : name(std::move(name_)), value(value_), gradient(gradient_), shape(shape_) {
    if (value.size() != gradient.size() || value.size() != shape.count())
      throw ContractError(text("fleet: parameter ", name, " of shape ", shape.text(), " has ", value.size(),
                               " values and ", gradient.size(), " gradients; give both as many as the shape has"));
  }
};

}  // namespace fleet
