#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <vector>

#include <fleet/comm/partition.hpp>

namespace {

using fleet::comm::Partition;
using fleet::comm::Pieces;

TEST(Pieces, add_up_and_fit_beyond_32_bits) {
  std::size_t const two31 = std::size_t{1} << 31;
  for (std::size_t total : {two31 - 1, two31, two31 + 1, 2 * two31 + 1, std::size_t{2'400'000'000}, std::size_t{0}})
    for (std::size_t limit : {std::size_t{1} << 20, two31 - 64, two31 - 1}) {
      Pieces const pieces{total, limit};
      std::size_t sum = 0;
      for (std::size_t i = 0; i < pieces.count(); ++i) {
        EXPECT_EQ(pieces.offset(i), sum);
        ASSERT_GT(pieces.size(i), 0u);
        ASSERT_LE(pieces.size(i), static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()));
        sum += pieces.size(i);
      }
      EXPECT_EQ(sum, total);
    }
}

TEST(Partition, equal_parts_cover_everything) {
  for (std::size_t ranks : {1u, 2u, 3u, 4u, 7u})
    for (std::size_t total : {std::size_t{0}, std::size_t{3}, std::size_t{100}, (std::size_t{1} << 32) + 1}) {
      Partition const partition{total, ranks};
      std::size_t sum = 0;
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        EXPECT_EQ(partition.offset(rank), sum);
        EXPECT_LE(partition.size(rank) - total / ranks, 1u);
        sum += partition.size(rank);
      }
      EXPECT_EQ(sum, total);
    }
}

TEST(Partition, counts_add_up_in_64_bits) {
  std::vector<std::size_t> const counts{1'200'000'000, 0, 1'200'000'000};
  Partition const partition{counts};
  EXPECT_EQ(partition.total(), 2'400'000'000u);
  EXPECT_EQ(partition.offset(1), 1'200'000'000u);
  EXPECT_EQ(partition.offset(2), 1'200'000'000u);
  EXPECT_EQ(partition.size(2), 1'200'000'000u);
}

}  // namespace
