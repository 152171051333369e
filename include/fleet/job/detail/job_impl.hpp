#pragma once
#include <cstdio>
#include <string>

#include <fleet/job/job.hpp>

namespace fleet {

FLEET_BODY void Job::print_on_rank(std::string_view message, int rank) const {
  if (worker_index() != rank) return;
  std::string line{message};
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

}  // namespace fleet
