#include <fleet/data/sampler.hpp>

#include <algorithm>
#include <map>
#include <vector>

#include "support/golden.hpp"
#include "support/workers.hpp"

namespace {

using fleet::data::Sampler;
using fleet::data::Share;
using Items = std::vector<std::size_t>;

/// What each rank reads in an epoch of training, or in an evaluation.
std::vector<Items> deal(std::size_t items, int ranks, bool shuffle, std::uint64_t seed, std::uint64_t epoch,
                        bool training) {
  std::vector<Items> shares(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    Sampler const sampler{items, {rank, ranks}, shuffle, seed};
    Items order;
    sampler.permute(epoch, order);
    std::size_t const count = training ? sampler.padded_share() : sampler.own_share();
    for (std::size_t k = 0; k < count; ++k) shares[static_cast<std::size_t>(rank)].push_back(sampler.item(k, order));
  }
  return shares;
}

Items times_seen(std::vector<Items> const& shares, std::size_t items) {
  Items times(items);
  for (auto const& share : shares)
    for (auto item : share) ++times.at(item);
  return times;
}

/// The order that was dealt to these hands, with its padding.
Items order_of(std::vector<Items> const& shares) {
  Items order;
  for (std::size_t k = 0; k < shares[0].size(); ++k)
    for (auto const& share : shares) order.push_back(share[k]);
  return order;
}

TEST(Sampler, TrainsAsTheGoldenFileSays) {
  auto const file = test::golden("sampler.json");
  for (auto const& right : file.at("training")) {
    auto const items = right.at("items").get<std::size_t>();
    int const ranks = right.at("ranks").get<int>();
    auto const plain = deal(items, ranks, false, 0, 0, true);
    EXPECT_EQ(plain, right.at("shares_without_shuffle").get<std::vector<Items>>()) << right;
    auto times = right.at("times_seen").get<Items>();
    EXPECT_EQ(times_seen(plain, items), times) << right;

    std::sort(times.begin(), times.end());
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
      auto const shuffled = deal(items, ranks, true, 5, epoch, true);
      for (auto const& share : shuffled) EXPECT_EQ(share.size(), right.at("each_rank").get<std::size_t>());
      auto seen = times_seen(shuffled, items);
      std::sort(seen.begin(), seen.end());
      EXPECT_EQ(seen, times) << right;
      auto const order = order_of(shuffled);
      for (std::size_t j = items; j < order.size(); ++j) EXPECT_EQ(order[j], order[j % items]) << right;
    }
  }
}

TEST(Sampler, EvaluatesAsTheGoldenFileSays) {
  auto const file = test::golden("sampler.json");
  for (auto const& right : file.at("evaluation")) {
    auto const items = right.at("items").get<std::size_t>();
    auto const shares = deal(items, right.at("ranks").get<int>(), false, 0, 0, false);
    EXPECT_EQ(shares, right.at("shares_without_shuffle").get<std::vector<Items>>()) << right;
    Items counts;
    for (auto const& share : shares) counts.push_back(share.size());
    auto expected = right.at("counts").get<Items>();
    std::sort(expected.rbegin(), expected.rend());
    EXPECT_EQ(counts, expected) << right;
    EXPECT_EQ(times_seen(shares, items), Items(items, 1)) << right;
  }
}

TEST(Sampler, DealsOneOrderToAnyNumberOfHands) {
  for (std::size_t items : {64u, 101u}) {
    auto const alone = order_of(deal(items, 1, true, 7, 3, true));
    for (int ranks = 2; ranks <= 8; ++ranks) {
      auto order = order_of(deal(items, ranks, true, 7, 3, true));
      order.resize(items);
      EXPECT_EQ(order, alone) << ranks;
    }
  }
}

TEST(Sampler, ShufflesBySeedAndEpochAlone) {
  std::map<Items, int> orders;
  for (std::uint64_t seed : {0u, 1u, 2u})
    for (std::uint64_t epoch : {0u, 1u, 2u, 3u}) {
      auto const order = order_of(deal(64, 1, true, seed, epoch, true));
      EXPECT_EQ(order, order_of(deal(64, 1, true, seed, epoch, true)));
      ++orders[order];
    }
  EXPECT_EQ(orders.size(), 12u);
}

TEST(Sampler, PutsEveryItemInEveryPlaceAboutEquallyOften) {
  constexpr std::size_t items = 5, epochs = 5000;
  std::vector<Items> counts(items, Items(items));
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
    auto const order = order_of(deal(items, 1, true, 1, epoch, true));
    for (std::size_t place = 0; place < items; ++place) ++counts[place][order[place]];
  }
  for (auto const& places : counts)  // 1000 expected, deviation 28
    for (auto count : places) EXPECT_NEAR(static_cast<double>(count), 1000, 170);
}

TEST(Share, IsARankOfTheJob) {
  test::run_workers(3, [](fleet::Job& job) {
    Share const share = job;
    EXPECT_EQ(share.rank, job.worker_index());
    EXPECT_EQ(share.ranks, 3);
  });
  fleet::Role server;
  server.is_server = true;
  EXPECT_THROW(Share{fleet::Job(server, nullptr)}, fleet::ContractError);
  EXPECT_THROW(Share(2, 2), fleet::ConfigurationError);
  EXPECT_THROW(Share(-1, 2), fleet::ConfigurationError);
  EXPECT_THROW(Share(0, 0), fleet::ConfigurationError);
}

}  // namespace
