// The collectives by themselves: sums, gathers, groups, messages, and work that goes on meanwhile.
//   fleetrun --nproc_per_node=3 ./collectives
#include <cstdio>
#include <fleet/fleet.hpp>
#include <numeric>
#include <vector>

int main(int argc, char** argv) try {
  auto job = fleet::init(argc, argv);
  auto& workers = job.communicator();
  auto const rank = static_cast<float>(workers.rank());

  std::vector<float> data(1000, rank);
  workers.all_reduce(std::span{data});  // every rank holds the sum
  workers.all_reduce(std::span{data}, fleet::comm::ReduceOp::max);

  std::vector<float> gradient(1 << 20, 1.0f);
  auto work = workers.start_all_reduce(std::span{gradient});
  double const meanwhile = std::accumulate(data.begin(), data.end(), 0.0);  // anything but touching `gradient`
  work.wait();

  std::vector<std::int64_t> const own(static_cast<std::size_t>(workers.rank()), workers.rank());
  auto const all = workers.all_gather(own);  // unequal shares, in rank order

  auto pair = workers.split(workers.rank() % 2);  // ranks of one parity form a group
  pair->barrier();

  workers.set_timeout(std::chrono::seconds{20});  // of every later call on this rank
  job.print_on_rank(fleet::text("engine ", workers.engine(), ": ", gradient[0], " ranks, ", all.size(), " gathered, ",
                                meanwhile, " meanwhile, my group has ", pair->size()));
  return gradient.back() == static_cast<float>(workers.size()) ? 0 : 1;
} catch (fleet::TransportError const& error) {
  std::fprintf(stderr, "rank %d is to blame for %s: %s\n", error.peer(), error.operation().c_str(), error.what());
  return 1;
}
