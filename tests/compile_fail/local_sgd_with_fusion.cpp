// expect: LocalSGD.*FuseAllReduce
#include <fleet/fleet.hpp>

auto misuse() { return fleet::Strategy{fleet::LocalSGD{}, fleet::FuseAllReduce{}}; }
