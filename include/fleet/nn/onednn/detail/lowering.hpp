#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fleet/nn/onednn/detail/plan.hpp>

namespace fleet::nn::onednn::detail {

/// An activation that the operation before it computes in passing; its derivative follows from its result.
enum class Activation : std::uint8_t { none, relu, tanh, sigmoid };

/// A value of the graph: what it is, and where it and its gradient lie.
struct Value {
  compat::Desc desc;
  BufferId data = no_buffer;
  BufferId gradient = no_buffer;     ///< no_buffer where nobody needs it
  bool overwrites_gradient = false;  ///< the operation that made the value changes its gradient in place

  bool wants_gradient() const { return gradient != no_buffer; }
};

/// A node of the graph together with the activation that is fused into it.
struct Item {
  Node const* node;
  Activation activation;
  std::size_t place;  ///< of the node in the graph
  Shape shape;        ///< of the result
};

/// Turns nodes into operations of a plan, one after the other.
class Lowering {
 public:
  Lowering(Plan& plan, dnnl::engine engine, std::span<Parameter const> parameters, bool training)
      : plan_(plan), engine_(std::move(engine)), parameters_(parameters), training_(training) {}

  bool training() const { return training_; }
  dnnl::engine const& engine() const { return engine_; }
  Buffers& buffers() { return plan_.buffers; }
  std::span<Parameter const> parameters() const { return parameters_; }

  /// The times of the operation that is added next.
  Time forward_now() const { return forward_time(plan_.ops.size()); }
  Time backward_now() const { return backward_time(plan_.ops.size()); }

  /// A new value that the next operation makes.
  Value make(compat::Desc const& desc, bool wants_gradient);
  /// The same value in another layout: by itself, or by a reorder that is added.
  Value in_layout(Value const& value, compat::Desc const& desc);
  /// The value in row-major order.
  Value plain(Value const& value);
  /// The value in row-major order under another shape of as many elements.
  Value reshaped(Value const& value, Shape const& shape);

  /// The next operation reads the value in its forward pass and, if `again`, in its backward pass.
  void reads(Value const& value, bool again);
  /// The buffers hold something during the next operation's backward pass.
  void uses_gradients(Value const& input, Value const& output);
  /// A buffer that only the next operation uses, at this time.
  BufferId scratch(std::size_t bytes, Time time);

  /// Attributes with which a primitive takes its scratchpad from the arena.
  dnnl::primitive_attr attributes(Activation activation = Activation::none) const;
  /// A primitive on these arguments, which runs at this time.
  template <class Description>
  Primitive primitive(Description const& description, std::vector<std::pair<int, dnnl::memory>> arguments, Time time) {
    auto const scratchpad = description.scratchpad_desc();
    if (scratchpad.get_size() != 0)
      arguments.emplace_back(DNNL_ARG_SCRATCHPAD, buffers().memory(scratchpad, scratch(scratchpad.get_size(), time)));
    return {dnnl::primitive(description.get()), std::move(arguments)};
  }
  Primitive reorder(dnnl::memory const& from, dnnl::memory const& to, Time time);

  template <class Operation, class... Arguments>
  void add(Arguments&&... arguments) {
    plan_.ops.push_back(std::make_unique<Operation>(std::forward<Arguments>(arguments)...));
  }

 private:
  Plan& plan_;
  dnnl::engine engine_;
  std::span<Parameter const> parameters_;
  bool training_;
};

inline compat::Dims dims(Shape const& shape) { return {shape.begin(), shape.end()}; }
/// Row-major.
compat::Desc plain_desc(compat::Dims const& dims);
inline compat::Desc plain_desc(Shape const& shape) { return plain_desc(dims(shape)); }
/// Whether both put every element at the same place.
bool same_layout(compat::Desc const& one, compat::Desc const& other);

/// One overload an operation: each declares its buffers, picks its primitives and adds itself.
Value lower(Lowering&, Item const&, Linear const&, std::vector<Value> const& inputs);
Value lower(Lowering&, Item const&, Conv2d const&, std::vector<Value> const& inputs);
Value lower(Lowering&, Item const&, MaxPool2d const&, std::vector<Value> const& inputs);
Value lower(Lowering&, Item const&, AvgPool2d const&, std::vector<Value> const& inputs);
Value lower(Lowering&, Item const&, ReLU const&, std::vector<Value> const& inputs);
Value lower(Lowering&, Item const&, Tanh const&, std::vector<Value> const& inputs);
Value lower(Lowering&, Item const&, Sigmoid const&, std::vector<Value> const& inputs);
Value lower(Lowering&, Item const&, GELU const&, std::vector<Value> const& inputs);
Value lower(Lowering&, Item const&, Softmax const&, std::vector<Value> const& inputs);
Value lower(Lowering&, Item const&, Flatten const&, std::vector<Value> const& inputs);
Value lower(Lowering&, Item const&, Dropout const&, std::vector<Value> const& inputs);
Value lower(Lowering&, Item const&, Add const&, std::vector<Value> const& inputs);
Value lower(Lowering&, Item const&, std::shared_ptr<AnyLayer> const&, std::vector<Value> const& inputs);

/// Gives each of several readers of a value its own, and adds up their gradients.
std::vector<Value> lower_fork(Lowering&, Value const& value, std::size_t readers);
/// Ends the forward pass: the mean loss, and the gradient of the value.
void lower_loss(Lowering&, LossFunction const& loss, Value const& value, Shape const& shape);

/// gradient *= f'(x), told from result = f(x).
void activation_backward(Activation activation, float const* result, float* gradient, std::size_t count);
/// The same for rows, while their sum is taken: sums[c] = sum over the rows of the new gradient; `sums` may be null.
void activation_backward(Activation activation, float const* result, float* gradient, float* sums, std::size_t rows,
                         std::size_t columns);

/// Compiles the graph for a batch shape: for training with the loss behind it, else without (no loss given).
std::unique_ptr<Plan> compile(Graph const& graph, LossFunction const* loss, Shape const& input,
                              std::span<Parameter const> parameters, dnnl::engine const& engine);

}  // namespace fleet::nn::onednn::detail

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/nn/onednn/detail/branch_impl.hpp>       // IWYU pragma: export
#include <fleet/nn/onednn/detail/compile_impl.hpp>      // IWYU pragma: export
#include <fleet/nn/onednn/detail/conv2d_impl.hpp>       // IWYU pragma: export
#include <fleet/nn/onednn/detail/dropout_impl.hpp>      // IWYU pragma: export
#include <fleet/nn/onednn/detail/elementwise_impl.hpp>  // IWYU pragma: export
#include <fleet/nn/onednn/detail/linear_impl.hpp>       // IWYU pragma: export
#include <fleet/nn/onednn/detail/loss_impl.hpp>         // IWYU pragma: export
#include <fleet/nn/onednn/detail/lowering_impl.hpp>     // IWYU pragma: export
#include <fleet/nn/onednn/detail/own_layer_impl.hpp>    // IWYU pragma: export
#include <fleet/nn/onednn/detail/pool2d_impl.hpp>       // IWYU pragma: export
#include <fleet/nn/onednn/detail/softmax_impl.hpp>      // IWYU pragma: export
#endif
