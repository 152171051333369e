#include <fleet/data/data_loader.hpp>
#include <fleet/data/tensor_dataset.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <ranges>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "support/files.hpp"
#include "support/golden.hpp"
#include "support/workers.hpp"

namespace {

using fleet::ConfigurationError;
using fleet::ContractError;
using fleet::data::DataLoader;
using fleet::data::LoaderOptions;
using fleet::data::LoaderState;
using fleet::data::Share;
using testing::AllOf;
using testing::HasSubstr;
using Items = std::vector<std::size_t>;
using Batches = std::vector<Items>;

/// A dataset of the user's own, whose batches are lists of items.
struct Numbers {
  using Batch = Items;
  std::size_t count = 0;
  std::size_t bad = ~std::size_t{0};

  std::size_t size() const { return count; }
  void fill(Batch& batch, std::span<std::size_t const> items) const {
    batch.assign(items.begin(), items.end());
    if (std::find(batch.begin(), batch.end(), bad) != batch.end())
      throw std::out_of_range("item " + std::to_string(bad));
  }
};

template <class Range>
Batches batches_of(Range&& range) {
  Batches batches;
  for (auto const& batch : range) batches.push_back(batch);
  return batches;
}

Items joined(Batches const& batches) {
  Items items;
  for (auto const& batch : batches) items.insert(items.end(), batch.begin(), batch.end());
  return items;
}

TEST(DataLoader, MakesAsManyBatchesAsTheGoldenFileSays) {
  auto const file = test::golden("sampler.json");
  for (auto const& right : file.at("batches")) {
    Numbers const numbers{right.at("items").get<std::size_t>()};
    int const ranks = right.at("ranks").get<int>();
    auto const batch_size = right.at("batch_size").get<std::int64_t>();
    for (int rank = 0; rank < ranks; ++rank)
      for (bool shuffle : {false, true}) {
        DataLoader loader{numbers, Share{rank, ranks}, {.batch_size = batch_size, .shuffle = shuffle}};
        DataLoader whole{
            numbers, Share{rank, ranks}, {.batch_size = batch_size, .shuffle = shuffle, .drop_last = true}};
        auto const batches = batches_of(loader), whole_batches = batches_of(whole);
        EXPECT_EQ(batches.size(), right.at("training_batches_each_rank").get<std::size_t>()) << right;
        EXPECT_EQ(batches.size(), loader.batches());
        EXPECT_EQ(batches.empty() ? 0 : batches.back().size(), right.at("training_last_batch").get<std::size_t>())
            << right;
        EXPECT_EQ(whole_batches.size(), right.at("training_batches_drop_last").get<std::size_t>()) << right;
        EXPECT_EQ(whole_batches.size(), whole.batches());
      }
  }
}

TEST(DataLoader, DealsTheSamplersOrderWhateverThePrefetching) {
  Numbers const numbers{101};
  for (std::int64_t prefetch : {0, 1, 2, 7})
    for (int rank = 0; rank < 3; ++rank) {
      DataLoader loader{numbers, Share{rank, 3}, {.batch_size = 4, .shuffle = true, .seed = 9, .prefetch = prefetch}};
      fleet::data::Sampler const sampler{101, {rank, 3}, true, 9};
      for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
        EXPECT_EQ(loader.epoch(), epoch);
        Items order, expected;
        sampler.permute(epoch, order);
        for (std::size_t k = 0; k < sampler.padded_share(); ++k) expected.push_back(sampler.item(k, order));
        EXPECT_EQ(joined(batches_of(loader)), expected);
      }
    }
}

TEST(DataLoader, GivesEveryRankOfAJobTheSameNumberOfBatches) {
  Numbers const numbers{3};
  for (int workers = 1; workers <= 8; ++workers) {
    Items times(3);
    auto const shares = test::collect(workers, [&](fleet::Job& job) {
      DataLoader loader{numbers, job, {.batch_size = 2, .shuffle = true}};
      return batches_of(loader);
    });
    for (auto const& share : shares) {
      EXPECT_EQ(share.size(), shares[0].size());
      EXPECT_EQ(joined(share).size(), joined(shares[0]).size());
      for (auto item : joined(share)) ++times[item];
    }
    EXPECT_GE(*std::min_element(times.begin(), times.end()), 1u);
    EXPECT_LE(*std::max_element(times.begin(), times.end()),
              static_cast<std::size_t>(workers <= 3 ? 2 : (workers + 2) / 3));
  }
}

TEST(DataLoader, EvaluatesEachSampleOnceInEveryNumberOfWorkers) {
  for (std::size_t items : {0u, 1u, 3u, 21u, 64u})
    for (int workers = 1; workers <= 8; ++workers) {
      Numbers const numbers{items};
      auto const shares = test::collect(workers, [&](fleet::Job& job) {
        DataLoader loader{numbers, job, {.batch_size = 4, .shuffle = true, .drop_last = true}};
        auto const once = loader.each_once();
        auto const batches = batches_of(once);
        EXPECT_EQ(batches.size(), once.batches());
        EXPECT_EQ(batches, batches_of(loader.each_once()));
        EXPECT_EQ(loader.epoch(), 0u);
        return joined(batches);
      });
      Items seen = joined(shares), expected(items);
      std::sort(seen.begin(), seen.end());
      std::iota(expected.begin(), expected.end(), std::size_t{0});
      EXPECT_EQ(seen, expected) << items << " items, " << workers << " workers";
    }
}

TEST(DataLoader, HasNoBatchesOfNoItems) {
  for (std::int64_t prefetch : {0, 2}) {
    DataLoader loader{Numbers{0}, Share{1, 3}, {.shuffle = true, .prefetch = prefetch}};
    EXPECT_TRUE(batches_of(loader).empty());
    EXPECT_TRUE(batches_of(loader.each_once()).empty());
    EXPECT_EQ(loader.batches(), 0u);
    EXPECT_EQ(loader.epoch(), 1u);
  }
}

TEST(DataLoader, LeavingALoopEarlyEndsItsEpoch) {
  Numbers const numbers{50};
  DataLoader loader{numbers, Share{}, {.batch_size = 5, .shuffle = true}},
      other{numbers, Share{}, {.batch_size = 5, .shuffle = true}};
  for (auto const& batch : loader)
    if (batch.empty() || loader.batch() == 3) break;
  EXPECT_EQ(loader.epoch(), 0u);
  EXPECT_EQ(loader.batch(), 3u);
  (void)batches_of(other);
  EXPECT_EQ(batches_of(loader), batches_of(other));
  EXPECT_EQ(loader.state(), other.state());
}

TEST(DataLoader, ResumesWithinAnEpochToTheBit) {
  Numbers const numbers{23};
  LoaderOptions const options{.batch_size = 3, .shuffle = true, .seed = 4};
  auto const three_epochs = [](auto& loader) {
    Batches batches;
    std::vector<LoaderState> states;
    while (loader.epoch() < 3)
      for (auto const& batch : loader) {
        batches.push_back(batch);
        states.push_back(loader.state());
      }
    return std::pair{batches, states};
  };
  for (int rank : {0, 1}) {
    DataLoader loader{numbers, Share{rank, 2}, options};
    auto const start = loader.state();
    auto const [all, states] = three_epochs(loader);
    ASSERT_EQ(all.size(), 12u);
    for (std::size_t done = 0; done <= all.size(); ++done) {
      DataLoader resumed{numbers, Share{rank, 2}, options};
      resumed.restore(done ? states[done - 1] : start);
      EXPECT_EQ(resumed.state(), done ? states[done - 1] : start);
      EXPECT_EQ(three_epochs(resumed).first, Batches(all.begin() + static_cast<std::ptrdiff_t>(done), all.end()))
          << done;
    }
  }
}

TEST(DataLoader, ResumesBetweenEpochsAlsoWithOtherWorkers) {
  Numbers const numbers{40};
  DataLoader loader{numbers, Share{}, {.batch_size = 4, .shuffle = true}};
  (void)batches_of(loader);
  DataLoader resumed{numbers, Share{0, 2}, {.batch_size = 2, .shuffle = true}};
  resumed.restore(loader.state());
  EXPECT_EQ(resumed.epoch(), 1u);
  EXPECT_EQ(batches_of(resumed).size(), 10u);
}

TEST(DataLoader, RefusesAStateItCannotContinue) {
  Numbers const numbers{40}, more{41};
  LoaderOptions const options{.batch_size = 4, .shuffle = true, .seed = 1};
  DataLoader loader{numbers, Share{}, options};
  for (auto const& batch : loader)
    if (!batch.empty()) break;
  auto const saved = loader.state();
  auto const refusal = [&](Numbers const& dataset, Share share, LoaderOptions const& other) {
    DataLoader resumed{dataset, share, other};
    return test::message_of<ConfigurationError>([&] { resumed.restore(saved); });
  };
  EXPECT_EQ(refusal(numbers, {}, options), "");
  EXPECT_THAT(refusal(more, {}, options), AllOf(HasSubstr("samples 40"), HasSubstr("41")));
  EXPECT_THAT(refusal(numbers, {0, 2}, options), AllOf(HasSubstr("workers 1"), HasSubstr("has 2")));
  EXPECT_THAT(refusal(numbers, {}, {.batch_size = 5, .shuffle = true, .seed = 1}), HasSubstr("batch_size 4"));
  EXPECT_THAT(refusal(numbers, {}, {.batch_size = 4, .shuffle = true, .seed = 2}), HasSubstr("seed 1"));
  EXPECT_THAT(refusal(numbers, {}, {.batch_size = 4, .seed = 1}), HasSubstr("shuffle"));
  auto beyond = saved;
  beyond.batch = 11;
  EXPECT_THAT(test::message_of<ConfigurationError>([&] { loader.restore(beyond); }), HasSubstr("batch 11"));
}

TEST(DataLoader, HasOneOpenLoopAtATime) {
  Numbers const numbers{10};
  DataLoader loader{numbers, Share{}, {.batch_size = 2}};
  for (auto const& batch : loader) {
    EXPECT_EQ(batch.size(), 2u);
    EXPECT_THROW(loader.begin(), ContractError);
    EXPECT_THROW(loader.restore(loader.state()), ContractError);
    EXPECT_EQ(batches_of(loader.each_once()).size(), 5u);
  }
  EXPECT_EQ(loader.epoch(), 1u);
  EXPECT_EQ(batches_of(loader).size(), 5u);
}

TEST(DataLoader, KeepsADatasetThatIsHandedOver) {
  auto const shared = std::make_shared<Numbers>(Numbers{6});
  DataLoader by_share{shared, Share{}, {.batch_size = 4}};
  static_assert(std::same_as<decltype(by_share), DataLoader<Numbers>>);
  EXPECT_EQ(shared.use_count(), 2);
  EXPECT_EQ(&by_share.dataset(), shared.get());
  DataLoader moved{std::move(by_share)};
  EXPECT_EQ(batches_of(moved), (Batches{{0, 1, 2, 3}, {4, 5}}));

  Numbers numbers{6};
  DataLoader by_reference{numbers, Share{}};
  EXPECT_EQ(&by_reference.dataset(), &numbers);
  EXPECT_EQ(batches_of(DataLoader{Numbers{6}, Share{}, {.batch_size = 6}}.each_once()), (Batches{{0, 1, 2, 3, 4, 5}}));
}

TEST(DataLoader, AnIteratorMayOutliveItsLoader) {
  auto loader = std::make_unique<DataLoader<Numbers>>(Numbers{30}, Share{}, LoaderOptions{.batch_size = 2});
  auto iterator = loader->begin();
  loader.reset();
  for (std::size_t i = 0; i < 15; ++i, ++iterator) EXPECT_EQ(*iterator, (Items{2 * i, 2 * i + 1}));
  EXPECT_EQ(iterator, std::default_sentinel);
}

TEST(DataLoader, IsARangeOfTheStandardLibrary) {
  static_assert(std::ranges::input_range<DataLoader<Numbers>>);
  static_assert(std::ranges::input_range<fleet::data::EachOnce<Numbers> const>);
  Numbers const numbers{9};
  DataLoader loader{numbers, Share{}, {.batch_size = 3}};
  std::size_t sum = 0;
  std::ranges::for_each(
      loader, [&](std::size_t first) { sum += first; }, [](Items const& batch) { return batch[0]; });
  EXPECT_EQ(sum, 9u);
}

TEST(DataLoader, HandsOnWhatFillingThrows) {
  for (std::int64_t prefetch : {0, 1, 2, 5}) {
    DataLoader loader{Numbers{20, 13}, Share{}, {.batch_size = 3, .prefetch = prefetch}};
    for (int epoch = 0; epoch < 2; ++epoch) {
      Batches good;
      EXPECT_EQ(test::message_of<std::out_of_range>([&] {
                  for (auto const& batch : loader) good.push_back(batch);
                }),
                "item 13");
      EXPECT_EQ(good.size(), 4u);
    }
    EXPECT_EQ(test::message_of<std::out_of_range>([&] { (void)batches_of(loader.each_once()); }), "item 13");
  }
}

TEST(DataLoader, NamesTheOptionThatIsOutOfRange) {
  auto const refusal = [](LoaderOptions const& options) {
    return test::message_of<ConfigurationError>([&] { DataLoader(Numbers{5}, Share{}, options); });
  };
  EXPECT_THAT(refusal({.batch_size = 0}), AllOf(HasSubstr("batch_size is 0"), HasSubstr("at least 1")));
  EXPECT_THAT(refusal({.batch_size = -3}), HasSubstr("batch_size is -3"));
  EXPECT_THAT(refusal({.prefetch = -1}), AllOf(HasSubstr("prefetch is -1"), HasSubstr("0 to 1024")));
  EXPECT_THAT(refusal({.prefetch = 1025}), HasSubstr("prefetch is 1025"));
}

TEST(DataLoader, YieldsTheBatchesOfTensors) {
  fleet::Tensor<float> inputs{{5, 2}};
  std::iota(inputs.span().begin(), inputs.span().end(), 0.0f);
  fleet::Tensor<std::int64_t> labels{{5}};
  std::iota(labels.span().begin(), labels.span().end(), 10);
  fleet::data::TensorDataset const dataset{{.inputs = inputs, .labels = labels}};
  DataLoader loader{dataset, Share{1, 2}, {.batch_size = 2}};
  std::vector<std::int64_t> seen;
  for (fleet::data::Batch const& batch : loader) {
    EXPECT_EQ(batch.inputs.shape(), (fleet::Shape{static_cast<std::int64_t>(batch.size()), 2}));
    for (std::size_t i = 0; i < batch.size(); ++i)
      EXPECT_EQ(batch.inputs[2 * i], 2 * static_cast<float>(batch.labels[i] - 10));
    seen.insert(seen.end(), batch.labels.span().begin(), batch.labels.span().end());
  }
  EXPECT_EQ(seen, (std::vector<std::int64_t>{11, 13, 10}));
}

}  // namespace
