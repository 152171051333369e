#include <fleet/data/idx.hpp>

#include <cstdint>
#include <string>

#include <gmock/gmock.h>

#include "support/files.hpp"

namespace {

using fleet::DataError;
using fleet::Shape;
using fleet::data::read_idx;
using test::big_endian;
using testing::AllOf;
using testing::HasSubstr;

std::string images(std::uint32_t count, std::size_t bytes) {
  return big_endian(2051) + big_endian(count) + big_endian(2) + big_endian(3) + std::string(bytes, '\7');
}

TEST(Idx, ReadsEveryElementType) {
  test::TemporaryFolder folder;
  auto const write = [&](std::uint32_t code, std::string const& bytes) {
    return folder.write("array", big_endian(code << 8 | 1) + big_endian(2) + bytes);
  };
  auto const check = [](auto const& array, auto first, auto second) {
    EXPECT_EQ(array.shape(), Shape{2});
    EXPECT_EQ(array[0], first);
    EXPECT_EQ(array[1], second);
  };
  check(read_idx<std::uint8_t>(write(0x08, "\x01\xff")), 1, 255);
  check(read_idx<std::int8_t>(write(0x09, "\x01\xff")), 1, -1);
  check(read_idx<std::int16_t>(write(0x0b, std::string{"\x01\x02\xff\xfe", 4})), 258, -2);
  check(read_idx<std::int32_t>(write(0x0c, big_endian(0x01020304) + big_endian(0xffffffffu))), 0x01020304, -1);
  check(read_idx<float>(write(0x0d, big_endian(0x3fc00000) + big_endian(0xc0000000u))), 1.5f, -2.0f);
  check(read_idx<double>(write(0x0e, big_endian(0x3ff80000) + big_endian(0) + big_endian(0xc0000000u) + big_endian(0))),
        1.5, -2.0);
}

TEST(Idx, ReadsAnyNumberOfAxesAndNone) {
  test::TemporaryFolder folder;
  auto header = big_endian(0x0808);
  for (int axis = 0; axis < 8; ++axis) header += big_endian(axis == 3 ? 5 : 1);
  EXPECT_EQ(read_idx<std::uint8_t>(folder.write("eight", header + "12345")).shape(), (Shape{1, 1, 1, 5, 1, 1, 1, 1}));
  EXPECT_EQ(fleet::data::read_idx_images(folder.write("none", images(0, 0))).shape(), (Shape{0, 2, 3}));
  EXPECT_EQ(fleet::data::read_idx_images(folder.write("images.gz", test::gzip(images(2, 12)))).shape(),
            (Shape{2, 2, 3}));
}

TEST(Idx, RefusesAWrongMagicNumber) {
  test::TemporaryFolder folder;
  auto const labels = folder.write("labels", big_endian(2049) + big_endian(3) + std::string("\1\2\3", 3));
  auto const message = test::message_of<DataError>([&] { fleet::data::read_idx_images(labels); });
  EXPECT_THAT(message,
              AllOf(HasSubstr(labels), HasSubstr("at byte 0"), HasSubstr("expected 2051"), HasSubstr("found 2049")));
  EXPECT_THAT(test::message_of<DataError>([&] { read_idx<float>(labels); }), HasSubstr("expected from 3329 to 3336"));
  EXPECT_THROW(read_idx<std::uint8_t>(folder.write("many", big_endian(0x0809))), DataError);
  EXPECT_THROW(read_idx<std::uint8_t>(folder.write("scalar", big_endian(0x0800))), DataError);
  EXPECT_THROW(read_idx<std::uint8_t>(folder.write("text", "P5 28 28 255")), DataError);
}

TEST(Idx, RefusesAFileOfAnotherLengthThanItsHeaderSays) {
  test::TemporaryFolder folder;
  auto const whole = images(3, 18);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    auto const path = folder.write("images.gz", test::gzip(whole.substr(0, length)));
    EXPECT_THAT(test::message_of<DataError>([&] { fleet::data::read_idx_images(path); }),
                AllOf(HasSubstr(path), HasSubstr("cut short"), HasSubstr("at byte " + std::to_string(length))));
    EXPECT_THROW(fleet::data::read_idx_images(folder.write("images", whole.substr(0, length))), DataError);
  }
  for (bool packed : {false, true}) {
    auto const path = folder.write("images", packed ? test::gzip(whole + "x") : whole + "x");
    EXPECT_THAT(test::message_of<DataError>([&] { fleet::data::read_idx_images(path); }),
                AllOf(HasSubstr(path), HasSubstr("too long"), HasSubstr("byte 34")));
  }
}

TEST(Idx, TakesNoMemoryOnTheWordOfAHeader) {
  test::TemporaryFolder folder;
  auto const header = big_endian(2051) + big_endian(0xffffffffu) + big_endian(0xffffffffu) + big_endian(0xffffffffu);
  for (auto const& path : {folder.write("huge", header), folder.write("huge.gz", test::gzip(header))})
    EXPECT_THAT(test::message_of<DataError>([&] { fleet::data::read_idx_images(path); }),
                AllOf(HasSubstr(path), HasSubstr("cannot hold")));
}

TEST(Idx, RefusesALabelOutOfRange) {
  test::TemporaryFolder folder;
  auto const path = folder.write("labels", big_endian(2049) + big_endian(3) + "\1\x0a\3");
  EXPECT_THAT(test::message_of<DataError>([&] { fleet::data::read_idx_labels(path); }),
              AllOf(HasSubstr(path), HasSubstr("at byte 9"), HasSubstr("expected 0 to 9"), HasSubstr("found 10"),
                    HasSubstr("sample 1")));
  EXPECT_EQ(fleet::data::read_idx_labels(path, 11)[1], 10);
}

}  // namespace
