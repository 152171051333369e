#include <fleet/strategy/bucket_plan.hpp>

#include <gtest/gtest.h>

namespace {

struct Model {
  std::vector<std::string> names;
  std::vector<std::vector<float>> data;
  std::vector<fleet::Parameter> parameters;

  Model(std::vector<std::size_t> const& sizes, std::vector<std::string> names_ = {}) : names(std::move(names_)) {
    for (std::size_t i = 0; i < sizes.size(); ++i) data.emplace_back(sizes[i]);
    for (std::size_t i = 0; i < sizes.size(); ++i)
      parameters.emplace_back(names.empty() ? fleet::text("p", i) : names[i], data[i], data[i]);
  }
};

using Buckets = std::vector<std::vector<std::size_t>>;

TEST(BucketPlan, ClosesAMessageBeforeItWouldPassTheLimit) {
  Model model{{104858, 104858, 104858}};
  EXPECT_EQ(plan_buckets(model.parameters, {.bytes = 1 << 20}), (Buckets{{2, 1}, {0}}));
}

TEST(BucketPlan, CountsBytesAtTheEdge) {
  Model model{{1, 250000, 3, 749999}};
  std::uint64_t const total = 4 * 1000003;
  EXPECT_EQ(plan_buckets(model.parameters, {.bytes = total}).size(), 1u);
  EXPECT_EQ(plan_buckets(model.parameters, {.bytes = total + 1}).size(), 1u);
  EXPECT_EQ(plan_buckets(model.parameters, {.bytes = total - 1}), (Buckets{{3, 2, 1}, {0}}));
  EXPECT_EQ(plan_buckets(model.parameters, {.bytes = 4}), (Buckets{{3}, {2}, {1}, {0}}));
  EXPECT_EQ(plan_buckets(model.parameters, {.bytes = 0}), (Buckets{{3}, {2}, {1}, {0}}));
}

TEST(BucketPlan, CountsLayersByTheNameUpToTheLastDot) {
  Model model{{1, 1, 1, 1, 1}, {"a.weight", "a.bias", "b.weight", "b.bias", "c.weight"}};
  EXPECT_EQ(plan_buckets(model.parameters, {.layers = 1}), (Buckets{{4}, {3, 2}, {1, 0}}));
  EXPECT_EQ(plan_buckets(model.parameters, {.layers = 2}), (Buckets{{4, 3, 2}, {1, 0}}));
}

TEST(BucketPlan, LeavesOutWhatIsEmptyOrKeptByModelParallelism) {
  Model model{{2, 0, 2}};
  model.parameters[0].distributed = true;
  EXPECT_EQ(plan_buckets(model.parameters, {}), (Buckets{{2}}));
  EXPECT_TRUE(fleet::plan_buckets({}, {}).empty());
}

}  // namespace
