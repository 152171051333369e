#pragma once
#include <algorithm>
#include <fleet/core/vectorize.hpp>
#include <fleet/nn/onednn/detail/lowering.hpp>

namespace fleet::nn::onednn::detail {

/// sum[i] = one[i] + other[i]; any of them may be the same.
inline void add_up(float const* one, float const* other, float* sum, std::size_t count) {
  for_each_vector(
      count, [](auto& a, auto& b, auto& out) { out = a + b; }, one, other, sum);
}

/// The sum of two values. Both gradients are that of the sum.
class AddOp final : public Op {
 public:
  AddOp(Lowering& lowering, Value const& one, Value const& other, Value const& sum, bool copies)
      : buffers_(lowering.buffers()), one_(one), other_(other), sum_(sum), copies_(copies) {
    lowering.reads(one, false);
    lowering.reads(other, false);
    lowering.uses_gradients(one, sum);
    lowering.uses_gradients(other, sum);
  }
  void forward(Run&) override {
    add_up(buffers_.data(one_.data), buffers_.data(other_.data), buffers_.data(sum_.data), count());
  }
  void backward(Run&) override {
    if (copies_) std::copy_n(buffers_.data(one_.gradient), count(), buffers_.data(other_.gradient));
  }

 private:
  std::size_t count() const { return sum_.desc.get_size() / sizeof(float); }

  Buffers& buffers_;
  Value one_, other_, sum_;
  bool copies_;
};

FLEET_BODY Value lower(Lowering& lowering, Item const&, Add const&, std::vector<Value> const& inputs) {
  auto const& one = inputs[0];
  auto const other = lowering.in_layout(inputs[1], one.desc);
  auto sum = lowering.make(one.desc, one.wants_gradient() || other.wants_gradient());
  bool const both = one.wants_gradient() && other.wants_gradient();
  bool const copies = both && (one.overwrites_gradient || other.overwrites_gradient);
  if (one.wants_gradient()) lowering.buffers().merge(one.gradient, sum.gradient);
  if (other.wants_gradient() && !copies) lowering.buffers().merge(other.gradient, sum.gradient);
  sum.overwrites_gradient = one.overwrites_gradient || other.overwrites_gradient;
  lowering.add<AddOp>(lowering, one, other, sum, copies);
  return sum;
}

/// Hands a value to several readers; its gradient is the sum of theirs.
class ForkOp final : public Op {
 public:
  ForkOp(Lowering& lowering, Value const& value, std::vector<Value> readers)
      : buffers_(lowering.buffers()), value_(value), readers_(std::move(readers)) {
    for (auto const& reader : readers_) lowering.uses_gradients(value, reader);
  }
  void forward(Run&) override {}
  void backward(Run&) override {
    auto* const sum = buffers_.data(value_.gradient);
    auto const count = value_.desc.get_size() / sizeof(float);
    add_up(buffers_.data(readers_[0].gradient), buffers_.data(readers_[1].gradient), sum, count);
    for (std::size_t i = 2; i < readers_.size(); ++i) add_up(sum, buffers_.data(readers_[i].gradient), sum, count);
  }

 private:
  Buffers& buffers_;
  Value value_;
  std::vector<Value> readers_;
};

FLEET_BODY std::vector<Value> lower_fork(Lowering& lowering, Value const& value, std::size_t readers) {
  std::vector<Value> copies(readers, value);
  for (auto& copy : copies) {
    copy.gradient = lowering.buffers().make(value.desc.get_size());
    copy.overwrites_gradient = false;
  }
  lowering.add<ForkOp>(lowering, value, copies);
  return copies;
}

}  // namespace fleet::nn::onednn::detail
