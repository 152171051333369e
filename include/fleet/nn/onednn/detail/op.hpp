#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include <fleet/core/random.hpp>
#include <fleet/nn/batch_view.hpp>
#include <fleet/nn/onednn/detail/compat.hpp>
#include <fleet/tensor/backward.hpp>

namespace fleet::nn::onednn::detail {

/// One pass over a plan.
struct Run {
  dnnl::stream& stream;
  BatchView const& batch;
  Random random;  ///< split by (seed, rank, step)
  float loss_scale;
  GradientReady gradient_ready;
  float loss = 0;
};

/// An operation of a plan.
class Op {
 public:
  virtual ~Op() = default;
  virtual void forward(Run&) = 0;
  virtual void backward(Run&) {}
};

/// A primitive of oneDNN and what it works on.
class Primitive {
 public:
  Primitive() = default;
  Primitive(dnnl::primitive primitive, std::vector<std::pair<int, dnnl::memory>> arguments)
      : primitive_(std::move(primitive)), memories_(std::move(arguments)) {
    for (auto const& [role, memory] : memories_) arguments_.push_back({role, memory.get()});
  }

  explicit operator bool() const { return !arguments_.empty(); }
  void execute(dnnl::stream& stream) const {
    dnnl::error::wrap_c_api(
        dnnl_primitive_execute(primitive_.get(), stream.get(), static_cast<int>(arguments_.size()), arguments_.data()),
        "fleet: oneDNN could not run a primitive");
  }

 private:
  dnnl::primitive primitive_;
  std::vector<std::pair<int, dnnl::memory>> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

}  // namespace fleet::nn::onednn::detail
