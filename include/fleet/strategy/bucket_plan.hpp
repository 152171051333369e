#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include <fleet/tensor/parameter.hpp>

namespace fleet {

/// Limits of one fused message.
struct BucketLimits {
  std::uint64_t bytes = std::numeric_limits<std::uint64_t>::max();
  int layers = std::numeric_limits<int>::max();
};

/// The layer of a parameter: its name up to the last dot ("block1.conv.weight" belongs to "block1.conv").
constexpr std::string_view layer_of(std::string_view name) {
  auto const dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(0, dot);
}

/// Which gradients travel together: lists of positions, in the order in which they are sent. Parameters are taken
/// from the last to the first, as a backward pass finishes them, and a message is closed before it would pass a limit;
/// a tensor above the limit travels alone. Parameters kept by model parallelism (`distributed`) and empty ones stay
/// out.
inline std::vector<std::vector<std::size_t>> plan_buckets(std::span<Parameter const> parameters, BucketLimits limits) {
  std::vector<std::vector<std::size_t>> buckets;
  std::uint64_t bytes = 0;
  int layers = 0;
  std::string_view layer;
  for (std::size_t i = parameters.size(); i-- > 0;) {
    auto const& parameter = parameters[i];
    if (parameter.distributed || parameter.gradient.empty()) continue;
    std::uint64_t const size = parameter.gradient.size_bytes();
    bool const new_layer = buckets.empty() || layer_of(parameter.name) != layer;
    if (buckets.empty() || bytes + size > limits.bytes || (new_layer && layers >= limits.layers)) {
      buckets.emplace_back();
      bytes = 0;
      layers = 0;
    }
    layers += (new_layer || buckets.back().empty()) ? 1 : 0;
    layer = layer_of(parameter.name);
    bytes += size;
    buckets.back().push_back(i);
  }
  return buckets;
}

}  // namespace fleet
