// Optimizer steps on the shapes of ResNet50: 161 tensors, 25.6 million values, side by side in memory and apart;
// and the choice of the 25,000 greatest of 25 million magnitudes.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <vector>

#include <fleet/core/random.hpp>
#include <fleet/optim/adam.hpp>
#include <fleet/optim/clip.hpp>
#include <fleet/optim/momentum.hpp>
#include <fleet/strategy/top_k.hpp>

#include "support/result.hpp"

namespace {

namespace optim = fleet::optim;

std::vector<std::size_t> resnet50_sizes() {
  std::vector<std::size_t> sizes{64 * 3 * 49, 64, 64};
  auto const convolution = [&](std::size_t out, std::size_t in, std::size_t window) {
    sizes.insert(sizes.end(), {out * in * window, out, out});
  };
  std::size_t in = 64, width = 64;
  for (int blocks : {3, 4, 6, 3}) {
    for (int block = 0; block < blocks; ++block) {
      convolution(width, in, 1), convolution(width, width, 9), convolution(width * 4, width, 1);
      if (block == 0) convolution(width * 4, in, 1);
      in = width * 4;
    }
    width *= 2;
  }
  sizes.insert(sizes.end(), {1000 * 2048, 1000});
  return sizes;
}

struct Network {
  fleet::AlignedVector<float> values, gradients;
  std::vector<fleet::Parameter> parameters;

  explicit Network(std::size_t gap) {
    auto const sizes = resnet50_sizes();
    std::size_t total = 0;
    for (auto size : sizes) total += size + gap;
    values.resize(total), gradients.resize(total);
    fleet::Random random{1};
    for (auto& value : values) value = random.uniform() - 0.5f;
    for (auto& gradient : gradients) gradient = (random.uniform() - 0.5f) * 1e-3f;
    std::size_t offset = 0;
    for (auto size : sizes) {
      parameters.emplace_back(fleet::text("p", parameters.size()), std::span{values}.subspan(offset, size),
                              std::span{gradients}.subspan(offset, size));
      offset += size + gap;
    }
  }
};

template <class Optimizer>
void measure(char const* name, std::size_t gap, Optimizer const& optimizer, double bytes_per_value) {
  Network network{gap};
  typename Optimizer::State state{optimizer, network.parameters};
  auto const before = network.values.front();
  std::int64_t step = 0;
  auto const seconds = bench::median_seconds([&] {
    state.begin_update(step++);
    state.update_all(network.parameters);
  });
  if (!(network.values.front() != before && std::isfinite(network.values.front()))) std::exit(1);
  auto const count = static_cast<double>(network.values.size() - gap * network.parameters.size());
  bench::print_result(fleet::text("optim/", name, "/resnet50", gap ? "_apart" : "", "/t1"), seconds * 1e3, "ms", "low",
                      fleet::text("GBps=", bytes_per_value * count / seconds / 1e9, " params=", count,
                                  " tensors=", network.parameters.size()));
}

void measure_top_k() {
  std::vector<float> values(25'000'000);
  fleet::Random random{1};
  for (auto& value : values) value = random.normal();
  fleet::TopK top;
  std::span<std::uint32_t const> chosen;
  auto const seconds = bench::median_seconds([&] { chosen = top(values, values.size() / 1000); });
  float least = std::numeric_limits<float>::infinity();
  for (auto place : chosen) least = std::min(least, std::abs(values[place]));
  auto const reach = std::count_if(values.begin(), values.end(), [&](float value) { return std::abs(value) >= least; });
  if (static_cast<std::size_t>(reach) < chosen.size() || chosen.size() != values.size() / 1000) std::exit(1);
  bench::print_result("optim/topk_0.1pct/25000000/t1", seconds * 1e3, "ms", "low");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2 && std::string_view{argv[1]} == "--threads" && std::string_view{argv[2]} != "1") {
    std::fputs("optim: a worker updates its parameters with one thread; leave --threads out\n", stderr);
    return 2;
  }
  measure_top_k();
  for (std::size_t gap : {0u, 16u}) {
    measure("adam", gap, optim::Adam{.learning_rate = 1e-4f}, 28);
    measure("sgdm", gap, optim::Momentum{.learning_rate = 1e-4f}, 20);
  }
  Network const network{0};
  double norm = 0;
  auto const seconds = bench::median_seconds([&] { norm += optim::global_norm(network.parameters); });
  if (!std::isfinite(norm)) return 1;
  bench::print_result("optim/global_norm/resnet50/t1", seconds * 1e3, "ms", "low",
                      fleet::text("GBps=", 4.0 * static_cast<double>(network.values.size()) / seconds / 1e9));
}
