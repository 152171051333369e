// What a step of the trainer costs above the bare loop, for a model of 161 small parameters and next to no arithmetic,
// on one worker. Both loops run in turn; a line tells the median difference.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include <fleet/comm/local/local.hpp>
#include <fleet/train/distribute.hpp>

namespace {

struct Trivial {
  std::vector<std::vector<float>> values, gradients;

  Trivial() : values(161, std::vector<float>(4, 1.0f)), gradients(values) {}
  std::vector<fleet::Parameter> parameters() {
    std::vector<fleet::Parameter> list;
    for (std::size_t i = 0; i < values.size(); ++i)
      list.emplace_back("layer" + std::to_string(i) + ".weight", values[i], gradients[i]);
    return list;
  }
  float forward_backward(float batch) {
    for (auto& gradient : gradients) gradient[0] = batch;
    return batch;
  }
};

struct Descent {
  float learning_rate = 1e-3f;
  void update(fleet::Parameter const& parameter) {
    for (std::size_t i = 0; i < parameter.value.size(); ++i)
      parameter.value[i] -= learning_rate * parameter.gradient[i];
  }
};

template <class Step>
double microseconds(Step&& step) {
  constexpr int count = 2000;
  auto const start = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) step(static_cast<float>(i));
  std::chrono::duration<double, std::micro> const passed = std::chrono::steady_clock::now() - start;
  return passed.count() / count;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

}  // namespace

int main() {
  fleet::Job job{fleet::Role{}, fleet::comm::local::make_group(1)[0]};
  Trivial trained, bare;
  auto trainer = fleet::distribute(job, trained, Descent{});
  auto parameters = bare.parameters();
  Descent descent;

  std::vector<double> ours, loop, difference;
  for (int repeat = 0; repeat < 21; ++repeat) {
    ours.push_back(microseconds([&](float batch) { trainer.step(batch); }));
    loop.push_back(microseconds([&](float batch) {
      bare.forward_backward(batch);
      for (auto const& parameter : parameters) descent.update(parameter);
    }));
    difference.push_back(ours.back() - loop.back());
  }
  if (trained.values != bare.values) {
    std::fprintf(stderr, "the trainer and the bare loop differ\n");
    return 1;
  }
  std::printf("res case=step/overhead/p161 peer=ours value=%.4g unit=us better=low step_us=%.4g bare_us=%.4g\n",
              median(difference), median(ours), median(loop));
}
