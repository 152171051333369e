#include <fleet/train/archive.hpp>

#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include <fleet/core/aligned.hpp>

#include "support/files.hpp"

namespace {

enum class Mode : std::uint8_t { cold, warm };

struct Inner {
  std::vector<float> velocity;
  template <class Archive>
  void archive(Archive& archive) {
    archive("velocity", std::span{velocity});
  }
};

struct State {
  std::vector<float> weight{1, 2, 3, 4, 5, 6};
  fleet::Shape shape{2, 3};
  Inner inner{{0.5f, std::numeric_limits<float>::quiet_NaN()}};
  std::vector<std::uint64_t> order{9, 8, 7};
  fleet::AlignedVector<double> sums{0.25};
  std::vector<std::int32_t> none;
  std::string note = "two\nlines";
  int step = -3;
  std::size_t bytes = std::numeric_limits<std::size_t>::max();
  float rate = 0.1f;
  double exact = 0.1;
  bool on = true;
  Mode mode = Mode::warm;
  char letter = 'x';

  template <class Archive>
  void archive(Archive& archive) {
    {
      auto const guard = archive.scope("parameters");
      archive("0.weight", std::span{weight}, shape);
    }
    archive.nested("optimizer", inner);
    archive("order", order);
    archive("sums", sums);
    archive("none", none);
    archive("note", note);
    archive("step", step);
    archive("bytes", bytes);
    archive("rate", rate);
    archive("exact", exact);
    archive("on", on);
    archive("mode", mode);
    archive("letter", letter);
  }
};

State blank() {
  return {.weight = std::vector<float>(6),
          .inner = {std::vector<float>(2)},
          .order = {},
          .sums = {},
          .none = {1},
          .note = "",
          .step = 0,
          .bytes = 0,
          .rate = 0,
          .exact = 0,
          .on = false,
          .mode = Mode::cold,
          .letter = 0};
}

template <class Object>
fleet::LoadArchive through(Object& object) {
  fleet::SaveArchive saved;
  object.archive(saved);
  return fleet::LoadArchive{saved};
}

template <class Saved, class Asked>
std::string refusal(Saved saved, Asked asked) {
  fleet::SaveArchive out;
  saved(out);
  fleet::LoadArchive in{out};
  return test::message_of<fleet::CheckpointError>([&] {
    asked(in);
    in.finish();
  });
}

TEST(Archive, GivesBackWhatItWasGiven) {
  State before, after = blank();
  auto archive = through(before);
  after.archive(archive);
  archive.finish();
  EXPECT_EQ(after.weight, before.weight);
  EXPECT_EQ(after.inner.velocity[0], 0.5f);
  EXPECT_TRUE(std::isnan(after.inner.velocity[1]));
  EXPECT_EQ(after.order, before.order);
  EXPECT_EQ(after.sums, before.sums);
  EXPECT_TRUE(after.none.empty());
  EXPECT_EQ(after.note, before.note);
  EXPECT_EQ(after.step, before.step);
  EXPECT_EQ(after.bytes, before.bytes);
  EXPECT_EQ(after.rate, before.rate);
  EXPECT_EQ(after.exact, before.exact);
  EXPECT_TRUE(after.on);
  EXPECT_EQ(after.mode, Mode::warm);
  EXPECT_EQ(after.letter, 'x');
}

TEST(Archive, NamesPiecesByTheirScopes) {
  State state;
  fleet::SaveArchive archive;
  state.archive(archive);
  EXPECT_EQ(archive.pieces()[0].name, "parameters/0.weight");
  EXPECT_EQ(archive.pieces()[1].name, "optimizer/velocity");
  EXPECT_EQ(archive.pieces()[2].name, "order");
}

TEST(Archive, PointsAtSpansAndCopiesTheRest) {
  State state;
  fleet::SaveArchive archive;
  state.archive(archive);
  state.step = 99;
  state.weight[0] = 7;
  fleet::LoadArchive in{archive};
  State after = blank();
  after.archive(in);
  EXPECT_EQ(after.step, -3);
  EXPECT_EQ(after.weight[0], 7);
}

TEST(Archive, ANameTwiceIsAnError) {
  fleet::SaveArchive archive;
  int a = 1;
  archive("a", a);
  EXPECT_NE(test::message_of<fleet::ContractError>([&] { archive("a", a); }).find("the name a"), std::string::npos);
}

TEST(Archive, RefusesAnotherShapeAndNamesBoth) {
  std::vector<float> saved(784 * 128), asked(784 * 64);
  auto const text = refusal(
      [&](auto& a) {
        a("w", std::span{saved}, fleet::Shape{784, 128});
      },
      [&](auto& a) {
        a("w", std::span{asked}, fleet::Shape{784, 64});
      });
  EXPECT_NE(text.find("of another model: w was saved as 784x128 float32, and this model has 784x64 float32"),
            std::string::npos)
      << text;
  EXPECT_NE(refusal(
                [&](auto& a) {
                  a("w", std::span{saved}, fleet::Shape{784, 128});
                },
                [&](auto& a) {
                  a("w", std::span{saved}, fleet::Shape{128, 784});
                }),
            "");
}

TEST(Archive, RefusesAnotherType) {
  std::vector<float> floats(2);
  std::vector<double> doubles(2);
  double number = 1;
  std::string words;
  auto const save = [&](auto& a) { a("w", std::span{floats}); };
  EXPECT_NE(refusal(save, [&](auto& a) { a("w", std::span{doubles}); }).find("float64"), std::string::npos);
  EXPECT_NE(refusal(save, [&](auto& a) { a("w", floats); }).find("list of"), std::string::npos);
  EXPECT_NE(refusal(save, [&](auto& a) { a("w", number); }), "");
  EXPECT_NE(refusal(save, [&](auto& a) { a("w", words); }).find("this model has text"), std::string::npos);
}

TEST(Archive, NamesWhatIsMissingAndWhatIsLeftOver) {
  int a = 1, b = 2, c = 3;
  auto const missing = refusal([&](auto& x) { x("a", a); }, [&](auto& x) { x("a", a), x("optimizer/b", b); });
  EXPECT_NE(missing.find("it has no optimizer/b"), std::string::npos) << missing;
  auto const left = refusal([&](auto& x) { x("a", a), x("b", b), x("c", c); }, [&](auto& x) { x("a", a); });
  EXPECT_NE(left.find("no place for b and 1 more"), std::string::npos) << left;
}

TEST(Archive, ANumberTooLargeForItsTypeIsRefused) {
  std::int64_t wide = 300;
  std::int8_t narrow = 5;
  EXPECT_NE(refusal([&](auto& a) { a("n", wide); }, [&](auto& a) { a("n", narrow); }), "");
  EXPECT_EQ(narrow, 5);
}

TEST(Archive, ACheckChangesNothing) {
  State before, after = blank();
  auto archive = through(before);
  archive.check(after);
  EXPECT_EQ(after.weight, blank().weight);
  EXPECT_TRUE(after.order.empty());
  EXPECT_EQ(after.step, 0);
  after.archive(archive);
  EXPECT_EQ(after.order, before.order);
  after.shape = {3, 2};
  EXPECT_THROW(archive.check(after), fleet::CheckpointError);
}

}  // namespace
