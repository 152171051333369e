#include <fleet/core/half.hpp>

#include <bit>
#include <string>

#include "support/golden.hpp"

namespace {

std::uint32_t hexadecimal(test::Json const& text) {
  return static_cast<std::uint32_t>(std::stoul(text.get<std::string>(), nullptr, 16));
}

template <class Half>
void check(test::Json const& type) {
  for (auto const& [wide, narrow] : type.at("narrow").get<std::vector<std::pair<test::Json, test::Json>>>()) {
    Half const half{std::bit_cast<float>(hexadecimal(wide))};
    if (narrow == "nan")
      EXPECT_TRUE(std::isnan(static_cast<float>(half))) << wide;
    else
      EXPECT_EQ(half.bits, hexadecimal(narrow)) << wide;
  }
  for (auto const& [narrow, wide] : type.at("widen").get<std::vector<std::pair<test::Json, test::Json>>>()) {
    Half half;
    half.bits = static_cast<std::uint16_t>(hexadecimal(narrow));
    if (wide == "nan")
      EXPECT_TRUE(std::isnan(static_cast<float>(half))) << narrow;
    else
      EXPECT_EQ(std::bit_cast<std::uint32_t>(static_cast<float>(half)), hexadecimal(wide)) << narrow;
  }
}

TEST(Half, ConvertsAsTheGoldenFileSays) {
  auto const file = test::golden("half_conversions.json");
  for (auto const& type : file.at("types"))
    type.at("type") == "float16" ? check<fleet::float16>(type) : check<fleet::bfloat16>(type);
}

}  // namespace
