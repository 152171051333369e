#pragma once
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fleet/tensor/shape.hpp>

namespace test {

using Json = nlohmann::json;

/// The right values of tests/golden, or of the folder that FLEET_GOLDEN_DIR names.
inline Json golden(std::string const& file) {
  auto const* other = std::getenv("FLEET_GOLDEN_DIR");
  std::string const path = (other ? std::string{other} : std::string{FLEET_SOURCE_DIR "/tests/golden"}) + "/" + file;
  std::ifstream stream{path};
  if (!stream) throw std::runtime_error("cannot read " + path);
  return Json::parse(stream);
}

/// A number, or "inf", "-inf", "nan".
inline double number(Json const& value) {
  if (value.is_number()) return value.get<double>();
  auto const text = value.get<std::string>();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  return std::numeric_limits<double>::quiet_NaN();
}

/// The values of a list, or of a tensor {"shape", "data"}, cast to float first as the files ask.
inline std::vector<float> floats(Json const& value) {
  std::vector<float> out;
  for (auto const& element : value.is_object() ? value.at("data") : value)
    out.push_back(static_cast<float>(number(element)));
  return out;
}

inline fleet::Shape shape(Json const& tensor) {
  auto const extents = tensor.at("shape").get<std::vector<std::int64_t>>();
  return fleet::Shape{std::span<std::int64_t const>{extents}};
}

/// How close is right: |x - expected| <= atol + rtol * |expected|.
struct Tolerance {
  double rtol = 0, atol = 0;
  explicit Tolerance(Json const& file)
      : rtol(file.at("tolerance").value("rtol", 0.0)), atol(file.at("tolerance").value("atol", 0.0)) {}
};

template <class Range>
void expect_close(Range const& actual, Json const& expected, Tolerance tolerance, std::string const& what) {
  auto const& list = expected.is_object() ? expected.at("data") : expected;
  ASSERT_EQ(actual.size(), list.size()) << what;
  for (std::size_t i = 0; i < list.size(); ++i) {
    double const right = number(list[i]), is = static_cast<double>(actual[i]);
    if (std::isfinite(right))
      ASSERT_LE(std::abs(is - right), tolerance.atol + tolerance.rtol * std::abs(right))
          << what << ", element " << i << ": " << is << " in place of " << right;
    else
      ASSERT_TRUE(std::isnan(right) ? std::isnan(is) : is == right) << what << ", element " << i;
  }
}

}  // namespace test
