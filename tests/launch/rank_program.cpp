// What the tests of the launcher start as ranks.
//   rank_program sum         adds the ranks up once, prints the sum
//   rank_program loop        adds up without end
//   rank_program leave R     as loop, but rank R returns 3 from main after some rounds
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include <fleet/job/init.hpp>

int main(int argc, char** argv) {
  std::string const mode = argc > 1 ? argv[1] : "sum";
  try {
    auto const job = fleet::init(argc, argv);
    std::printf("ready %d of %d\n", job.worker_index(), job.worker_num());
    if (mode == "sum") {
      std::printf("sum %d\n", job.all_reduce(job.worker_index() + 1));
      job.barrier();
      return 0;
    }
    int const leaver = mode == "leave" ? std::atoi(argv[2]) : -1;
    std::vector<float> data(100000, 1.0F);
    for (int round = 0;; ++round) {
      if (round == 20 && job.worker_index() == leaver) return 3;
      job.communicator().all_reduce(std::span{data}, fleet::comm::ReduceOp::max);
    }
  } catch (fleet::Error const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
