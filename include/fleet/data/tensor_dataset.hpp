#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include <fleet/data/batch.hpp>
#include <fleet/tensor/tensor.hpp>

namespace fleet::data {

/// A dataset that lies in memory whole: one sample a row.
class TensorDataset {
 public:
  /// Each is [n, ...] or left empty; of inputs and pixels exactly one is given.
  struct Columns {
    Tensor<float> inputs{};
    Tensor<std::uint8_t> pixels{};  ///< kept as bytes; a batch's inputs are pixel / 255
    Tensor<std::int64_t> labels{};
    Tensor<float> targets{};
  };

  /// No samples.
  TensorDataset() = default;
  /// Throws ContractError if the columns differ in their number of samples, or inputs and pixels are both given.
  explicit TensorDataset(Columns columns) : columns_(std::move(columns)) {
    if (!columns_.inputs.empty() && !columns_.pixels.empty())
      throw ContractError("fleet: a dataset has inputs or pixels, not both; leave one empty");
    auto const& shape = columns_.pixels.shape();
    size_ = rows(shape == Shape{0} ? columns_.inputs.shape() : shape);
    check("labels", columns_.labels.shape());
    check("targets", columns_.targets.shape());
  }

  std::size_t size() const { return size_; }
  Columns const& columns() const { return columns_; }

  /// Puts the samples with these indices into the batch, in this order. Throws ContractError for an index that is
  /// not below size().
  void fill(Batch& batch, std::span<std::size_t const> items) const {
    for (auto item : items)
      if (item >= size_)
        throw ContractError(text("fleet: a dataset of ", size_, " samples has none with index ", item));
    if (columns_.pixels.empty())
      copy(columns_.inputs, batch.inputs, items,
           [](float const* from, std::size_t count, float* to) { std::copy_n(from, count, to); });
    else
      copy(columns_.pixels, batch.inputs, items, [](std::uint8_t const* from, std::size_t count, float* to) {
        for (std::size_t i = 0; i < count; ++i) to[i] = shade[from[i]];
      });
    copy(columns_.labels, batch.labels, items,
         [](std::int64_t const* from, std::size_t count, std::int64_t* to) { std::copy_n(from, count, to); });
    copy(columns_.targets, batch.targets, items,
         [](float const* from, std::size_t count, float* to) { std::copy_n(from, count, to); });
  }

 private:
  static constexpr std::array<float, 256> shade = [] {
    std::array<float, 256> values{};
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) / 255;
    return values;
  }();

  static std::size_t rows(Shape const& shape) { return shape.axes() ? static_cast<std::size_t>(shape[0]) : 0; }

  void check(std::string_view column, Shape const& shape) const {
    if (shape != Shape{0} && rows(shape) != size_)
      throw ContractError(text("fleet: a dataset of ", size_, " samples cannot have ", column, " of shape ",
                               shape.text(), "; give as many rows as samples"));
  }

  // Rows in a random order are not foreseen by the processor.
  static void fetch(void const* row, std::size_t bytes) {
    constexpr std::size_t most = 4096, line = 64;
    for (std::size_t at = 0; at < std::min(bytes, most); at += line)
      __builtin_prefetch(static_cast<char const*>(row) + at);
  }

  template <class From, class To, class Copy>
  static void copy(Tensor<From> const& from, Tensor<To>& to, std::span<std::size_t const> items, Copy const& copy_row) {
    Shape shape = from.shape();
    if (shape == Shape{0}) return to.reshape(shape);
    shape[0] = static_cast<std::int64_t>(items.size());
    to.reshape(shape);
    std::size_t const row = shape.row();
    To* next = to.data();
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i + 1 < items.size()) fetch(from.data() + items[i + 1] * row, row * sizeof(From));
      copy_row(from.data() + items[i] * row, row, std::exchange(next, next + row));
    }
  }

  Columns columns_;
  std::size_t size_ = 0;
};

}  // namespace fleet::data
