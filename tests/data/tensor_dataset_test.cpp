#include <fleet/data/tensor_dataset.hpp>

#include <vector>

#include <gmock/gmock.h>

#include "support/files.hpp"

namespace {

using fleet::ContractError;
using fleet::Shape;
using fleet::Tensor;
using fleet::data::Batch;
using fleet::data::TensorDataset;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

template <class T>
Tensor<T> counted(Shape const& shape) {
  Tensor<T> tensor{shape};
  for (std::size_t i = 0; i < tensor.size(); ++i) tensor[i] = static_cast<T>(i);
  return tensor;
}

TEST(TensorDataset, FillsRowsOfAllColumns) {
  TensorDataset const dataset{
      {.inputs = counted<float>({4, 2}), .labels = counted<std::int64_t>({4}), .targets = counted<float>({4, 1, 3})}};
  EXPECT_EQ(dataset.size(), 4u);
  Batch batch;
  dataset.fill(batch, std::vector<std::size_t>{3, 0, 3});
  EXPECT_EQ(batch.size(), 3u);
  EXPECT_EQ(batch.inputs.shape(), (Shape{3, 2}));
  EXPECT_EQ(batch.targets.shape(), (Shape{3, 1, 3}));
  EXPECT_THAT(batch.inputs.span(), ElementsAre(6, 7, 0, 1, 6, 7));
  EXPECT_THAT(batch.labels.span(), ElementsAre(3, 0, 3));
  EXPECT_THAT(batch.targets.span(), ElementsAre(9, 10, 11, 0, 1, 2, 9, 10, 11));
  dataset.fill(batch, {});
  EXPECT_EQ(batch.size(), 0u);
  EXPECT_EQ(batch.inputs.shape(), (Shape{0, 2}));
}

TEST(TensorDataset, DividesPixelsBy255) {
  TensorDataset const dataset{{.pixels = counted<std::uint8_t>({256, 1})}};
  Batch batch;
  for (std::size_t i = 0; i < 256; ++i) {
    dataset.fill(batch, std::vector{i});
    EXPECT_EQ(batch.inputs[0], static_cast<float>(i) / 255.0f);
  }
  EXPECT_TRUE(batch.labels.empty());
  EXPECT_TRUE(batch.targets.empty());
}

TEST(TensorDataset, CanBeEmpty) {
  Batch batch;
  TensorDataset{}.fill(batch, {});
  EXPECT_EQ(batch.size(), 0u);
  EXPECT_EQ(TensorDataset({.inputs = Tensor<float>{{0, 5}}, .labels = Tensor<std::int64_t>{{0}}}).size(), 0u);
}

TEST(TensorDataset, RefusesWhatDoesNotFit) {
  EXPECT_THAT(test::message_of<ContractError>([] {
                TensorDataset({.inputs = counted<float>({3, 2}), .labels = counted<std::int64_t>({4})});
              }),
              AllOf(HasSubstr("3 samples"), HasSubstr("labels of shape [4]")));
  EXPECT_THROW(TensorDataset({.inputs = counted<float>({3}), .targets = counted<float>({2})}), ContractError);
  EXPECT_THROW(TensorDataset({.inputs = counted<float>({3}), .pixels = counted<std::uint8_t>({3})}), ContractError);
  Batch batch;
  EXPECT_THAT(test::message_of<ContractError>([&] {
                TensorDataset({.inputs = counted<float>({3})}).fill(batch, std::vector<std::size_t>{1, 3});
              }),
              AllOf(HasSubstr("3 samples"), HasSubstr("index 3")));
}

}  // namespace
