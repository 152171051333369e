// expect: optimizer needs update\(
#include <array>
#include <fleet/fleet.hpp>

struct Model {
  auto parameters() { return std::array<fleet::Parameter, 0>{}; }
  float forward_backward(int) { return 0; }
};

struct NoOptimizer {
  void updates(fleet::Parameter const&) {}
};

void misuse(fleet::Job& job, Model& model) { auto trainer = fleet::distribute(job, model, NoOptimizer{}); }
