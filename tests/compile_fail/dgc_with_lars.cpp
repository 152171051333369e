// expect: DGC and LARS|LARS and DGC
#include <fleet/fleet.hpp>

auto misuse() { return fleet::Strategy{fleet::DGC{}, fleet::LARS{}}; }
