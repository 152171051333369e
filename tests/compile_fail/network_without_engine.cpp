// expect: a network needs an engine.*fleet::nn
#include <fleet/fleet.hpp>

namespace nn = fleet::nn;

void misuse(fleet::Job& job) {
  auto trainer =
      fleet::distribute(job, nn::Sequential{nn::Linear{4, 2}}, nn::SoftmaxCrossEntropy{}, fleet::optim::SGD{});
}
