// expect: LARS and LAMB|LAMB and LARS
#include <fleet/fleet.hpp>

auto misuse() { return fleet::Strategy{fleet::LARS{}, fleet::LAMB{}}; }
