// expect: LocalSGD and AdaptiveLocalSGD.*one of them
#include <fleet/fleet.hpp>

auto misuse() { return fleet::Strategy{fleet::LocalSGD{}, fleet::AdaptiveLocalSGD{}}; }
