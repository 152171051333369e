#pragma once
#include <fleet/optim/momentum.hpp>
#include <fleet/strategy/top_k.hpp>

// The passes of deep gradient compression over one tensor (golden README 8). With Nesterov the velocity u is momentum
// times the usual one, so that it goes over from the dense to the compressed phase as it is.
namespace fleet::detail {

/// Velocity and residual take the gradient up, the greatest residuals are noted, and the gradient is cleared.
struct TakeUp {
  optim::detail::Regularize regularize;
  float momentum;
  bool nesterov;
  TopK::Notes notes;

  void operator()(Floats& g, Floats const& p, Floats& u, Floats& v) {
    regularize(g, p);
    if (nesterov) {
      u = momentum * (u + g);
      v += u + g;
    } else {
      u = momentum * u + g;
      v += u;
    }
    notes(v);
    g = Floats{};
  }
};

/// Ordinary momentum.
struct DenseUpdate {
  optim::detail::Regularize regularize;
  float momentum, rate;
  bool nesterov;

  void operator()(Floats& g, Floats& p, Floats& u) const {
    regularize(g, p);
    if (nesterov) {
      u = momentum * (u + g);
      p -= rate * (u + g);
    } else {
      u = momentum * u + g;
      p -= rate * u;
    }
  }
};

}  // namespace fleet::detail
