// expect: DGC.*AdaptiveLocalSGD|AdaptiveLocalSGD.*DGC
#include <fleet/fleet.hpp>

auto misuse() { return fleet::Strategy{fleet::DGC{}, fleet::AdaptiveLocalSGD{}}; }
