#pragma once

// Names of optimizers, for signatures and rules that need no more.
namespace fleet::optim {

struct SGD;
struct Momentum;
struct Adagrad;
struct Adam;
struct AdamW;

}  // namespace fleet::optim
