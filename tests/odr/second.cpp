#include <fleet/fleet.hpp>

int workers_seen_elsewhere(int argc, char** argv) { return fleet::init(argc, argv).worker_num(); }
