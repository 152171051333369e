// expect: Sequential holds something that is no layer
#include <fleet/fleet.hpp>

auto misuse() { return fleet::nn::Sequential{fleet::nn::Linear{4, 2}, 7}; }
