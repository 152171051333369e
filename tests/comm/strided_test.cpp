#include <gtest/gtest.h>

#include <vector>

#include <fleet/comm/local/local.hpp>
#include <fleet/comm/strided.hpp>

#include "support/require.hpp"

namespace {

using fleet::StridedView;
using fleet::comm::Communicator;
using Floats = std::vector<float>;

Floats storage(Communicator const& comm) {
  return comm.rank() == 0 ? Floats{1, -1, 2, -1, 3, -1} : Floats{10, -2, 20, -2, 30, -2};
}
StridedView<float> every_second(Floats& data) { return fleet::strided(data.data(), 3, 2); }
StridedView<float const> every_second(Floats const& data) { return fleet::strided(data.data(), 3, 2); }

TEST(Strided, gaps_stay_and_results_are_seen_through_the_view) {
  fleet::comm::local::run(2, [](Communicator& comm) {
    float const gap = comm.rank() == 0 ? -1 : -2;
    auto data = storage(comm);
    broadcast(comm, every_second(data), 0);
    test::require(data == Floats{1, gap, 2, gap, 3, gap}, "broadcast");

    data = storage(comm);
    all_reduce(comm, every_second(data));
    test::require(data == Floats{11, gap, 22, gap, 33, gap}, "all_reduce");

    data = storage(comm);
    reduce(comm, every_second(data), 1, fleet::comm::ReduceOp::max);
    test::require(data == (comm.rank() == 1 ? Floats{10, -2, 20, -2, 30, -2} : storage(comm)), "reduce");

    Floats const input = comm.rank() == 0 ? Floats{1, 9, 2, 9, 3, 9, 4, 9, 5, 9, 6, 9} : Floats{};
    data = storage(comm);
    scatter(comm, fleet::strided(input.data(), input.size() / 2, 2), every_second(data), 0);
    test::require(data == (comm.rank() == 0 ? Floats{1, gap, 2, gap, 3, gap} : Floats{4, gap, 5, gap, 6, gap}),
                  "scatter");

    Floats all(comm.rank() == 1 ? 12 : 0, 7);
    Floats const own = storage(comm);
    gather(comm, every_second(own), fleet::strided(all.data(), all.size() / 2, 2), 1);
    if (comm.rank() == 1) test::require(all == Floats{1, 7, 2, 7, 3, 7, 10, 7, 20, 7, 30, 7}, "gather");
  });
}

TEST(Strided, a_transposed_matrix_meets_a_dense_one) {
  fleet::comm::local::run(2, [](Communicator& comm) {
    Floats matrix{1, 2, 3, 4, 5, 6};  // 2 x 3
    if (comm.rank() == 0) {
      StridedView<float> const transposed{matrix.data(), fleet::Shape{3, 2}, {1, 3}};
      all_reduce(comm, transposed);
      test::require(matrix == Floats{1 + 1, 2 + 3, 3 + 5, 4 + 2, 5 + 4, 6 + 6}, "transposed");
    } else {
      comm.all_reduce(std::span{matrix});
      test::require(matrix == Floats{1 + 1, 2 + 4, 3 + 2, 4 + 5, 5 + 3, 6 + 6}, "dense");
    }
  });
}

}  // namespace
