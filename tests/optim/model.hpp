#pragma once
#include <string>
#include <vector>

#include <fleet/tensor/parameter.hpp>

#include "support/golden.hpp"

namespace test {

/// The tensors of a golden file in one flat allocation for values and one for gradients.
class Model {
 public:
  explicit Model(Json const& tensors) {
    for (auto const& tensor : tensors) {
      auto const data = floats(tensor);
      names_.push_back(tensor.at("name"));
      shapes_.push_back(shape(tensor));
      values_.insert(values_.end(), data.begin(), data.end());
    }
    gradients_.resize(values_.size());
  }

  std::vector<fleet::Parameter> parameters() {
    std::vector<fleet::Parameter> out;
    std::size_t offset = 0;
    for (std::size_t i = 0; i < names_.size(); offset += shapes_[i++].count())
      out.emplace_back(names_[i], std::span{values_}.subspan(offset, shapes_[i].count()),
                       std::span{gradients_}.subspan(offset, shapes_[i].count()), shapes_[i]);
    return out;
  }

  void set_gradients(Json const& lists) {
    std::vector<float> all;
    for (auto const& list : lists)
      for (auto element : floats(list)) all.push_back(element);
    std::copy(all.begin(), all.end(), gradients_.begin());
  }

 private:
  std::vector<std::string> names_;
  std::vector<fleet::Shape> shapes_;
  std::vector<float> values_, gradients_;
};

}  // namespace test
