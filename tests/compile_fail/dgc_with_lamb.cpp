// expect: DGC.*LAMB|LAMB.*DGC
#include <fleet/fleet.hpp>

auto misuse() { return fleet::Strategy{fleet::DGC{}, fleet::LAMB{}}; }
