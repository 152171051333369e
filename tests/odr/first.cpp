#include <fleet/fleet.hpp>

int workers_seen_elsewhere(int argc, char** argv);

int main(int argc, char** argv) {
  auto job = fleet::init(argc, argv);
  return job.worker_num() == workers_seen_elsewhere(argc, argv) ? 0 : 1;
}
