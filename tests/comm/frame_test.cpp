#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

#include <fleet/comm/frame.hpp>
#include <fleet/comm/perform.hpp>
#include <fleet/comm/tcp/detail/control.hpp>

namespace {

using namespace fleet::comm;

TEST(Frame, says_what_was_called) {
  EXPECT_EQ(
      describe({.operation = Operation::all_reduce, .reduce = ReduceOp::max, .root = -1, .number = 7, .bytes = 16}),
      "all_reduce (max) of 4 float32, call 7");
  EXPECT_EQ(
      describe({.operation = Operation::broadcast, .dtype = fleet::DType::uint8, .root = 2, .number = 1, .bytes = 3}),
      "broadcast of 3 uint8 with root 2, call 1");
  EXPECT_EQ(describe({.operation = Operation::barrier, .root = -1, .number = 3}), "barrier, call 3");
}

TEST(Frame, any_bytes_can_be_described_and_decoded) {
  std::mt19937 random{1};
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes(random() % 200, '\0');
    for (auto& byte : bytes) byte = static_cast<char>(random() % 256);
    if (round % 2 == 0 && bytes.size() >= 4) std::memcpy(bytes.data(), &tcp::ControlHeader::expected_magic, 4);
    if (bytes.size() >= sizeof(Frame)) {
      Frame frame;
      std::memcpy(&frame, bytes.data(), sizeof frame);
      EXPECT_FALSE(describe(frame).empty());
    }
    tcp::ControlHeader header;
    std::string text;
    bool sound = true;
    while (tcp::decode(bytes, 4, header, text, sound)) EXPECT_LT(header.guilty, 4);
  }
}

TEST(Control, whole_notices_come_out_as_they_went_in) {
  auto const one = tcp::encode({.notice = tcp::Notice::failed, .guilty = 3, .partner = 1}, "why");
  auto const two = tcp::encode({.notice = tcp::Notice::goodbye}, {});
  tcp::ControlHeader header;
  std::string stream, text;
  bool sound = true;
  int count = 0;
  for (char byte : one + two) {
    stream += byte;
    while (tcp::decode(stream, 4, header, text, sound)) {
      EXPECT_EQ(header.notice, count == 0 ? tcp::Notice::failed : tcp::Notice::goodbye);
      EXPECT_EQ(text, count == 0 ? "why" : "");
      ++count;
    }
  }
  EXPECT_TRUE(sound);
  EXPECT_EQ(count, 2);
}

}  // namespace
