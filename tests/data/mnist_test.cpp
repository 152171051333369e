#include <fleet/data/mnist.hpp>

#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "support/files.hpp"

namespace {

using fleet::DataError;
using fleet::Shape;
using fleet::data::load_mnist;
using test::big_endian;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string const files = FLEET_SOURCE_DIR "/tests/data/files";

fleet::data::Batch all(fleet::data::TensorDataset const& dataset) {
  std::vector<std::size_t> items(dataset.size());
  for (std::size_t i = 0; i < items.size(); ++i) items[i] = i;
  fleet::data::Batch batch;
  dataset.fill(batch, items);
  return batch;
}

TEST(Mnist, ReadsTheFilesOfAFolder) {
  auto const digits = load_mnist(files + "/digits");
  auto const train = all(digits.train), test = all(digits.test);
  EXPECT_EQ(train.inputs.shape(), (Shape{12, 1, 28, 28}));
  EXPECT_EQ(test.inputs.shape(), (Shape{4, 1, 28, 28}));
  EXPECT_THAT(train.labels.span(), testing::ElementsAre(5, 0, 4, 1, 9, 2, 1, 3, 1, 4, 3, 5));
  EXPECT_THAT(test.labels.span(), testing::ElementsAre(7, 2, 1, 0));
  EXPECT_EQ(train.inputs[5 * 28 + 12], 3.0f / 255);  // the first ink of the first digit
  EXPECT_EQ(train.inputs[5 * 28 + 20], 166.0f / 255);
}

TEST(Mnist, ReadsTheDigitsOfTheExamples) {
  auto const digits = load_mnist(FLEET_SOURCE_DIR "/examples/data/digits/");
  EXPECT_EQ(digits.train.size(), 30000u);
  EXPECT_EQ(digits.test.size(), 1000u);
}

TEST(Mnist, ReadsTheSameFromJson) {
  auto const idx = load_mnist(files + "/digits"), json = load_mnist(files + "/json");
  for (auto part : {&fleet::data::Digits::train, &fleet::data::Digits::test}) {
    auto const a = all(idx.*part), b = all(json.*part);
    ASSERT_EQ(a.inputs.shape(), b.inputs.shape());
    EXPECT_TRUE(
        std::equal(a.labels.span().begin(), a.labels.span().end(), b.labels.span().begin(), b.labels.span().end()));
    for (std::size_t i = 0; i < a.inputs.size(); ++i) ASSERT_NEAR(a.inputs[i], b.inputs[i], 0.5001e-4f) << i;
  }
  auto const parts = fleet::data::read_digits_json(files + "/json/mnist.json.gz");
  EXPECT_EQ(parts[0].size(), 8u);
  EXPECT_EQ(parts[1].size(), 4u);
  EXPECT_EQ(parts[2].size(), 4u);
}

TEST(Mnist, ListsWhatItLooksFor) {
  EXPECT_THAT(test::message_of<DataError>([] { load_mnist("/no/such/folder"); }),
              AllOf(HasSubstr("no folder /no/such/folder"), HasSubstr("train-images-idx3-ubyte"),
                    HasSubstr("train-labels-idx1-ubyte"), HasSubstr("t10k-images-idx3-ubyte"),
                    HasSubstr("t10k-labels-idx1-ubyte"), HasSubstr("mnist.json.gz")));
  test::TemporaryFolder folder;
  EXPECT_THAT(test::message_of<DataError>([&] { load_mnist(folder.path()); }),
              AllOf(HasSubstr(folder.path()), HasSubstr("train-images-idx3-ubyte"), HasSubstr("mnist.json.gz")));
  folder.write("train-images-idx3-ubyte", "");
  EXPECT_THAT(test::message_of<DataError>([&] { load_mnist(folder.path()); }),
              AllOf(Not(HasSubstr("train-images")), HasSubstr("train-labels-idx1-ubyte"), Not(HasSubstr("json"))));
}

class DamagedMnist : public testing::Test {
 protected:
  DamagedMnist() { std::filesystem::copy(files + "/digits", folder.path()); }
  std::string error() {
    return test::message_of<DataError>([&] { load_mnist(folder.path()); });
  }
  test::TemporaryFolder folder;
};

TEST_F(DamagedMnist, CountsThatDiffer) {
  folder.write("t10k-labels-idx1-ubyte", big_endian(2049) + big_endian(5) + "\1\2\3\4\5");
  EXPECT_THAT(error(), AllOf(HasSubstr(folder.path("t10k-images-idx3-ubyte") + " holds 4 images"),
                             HasSubstr(folder.path("t10k-labels-idx1-ubyte") + " holds 5 labels")));
}

TEST_F(DamagedMnist, ImagesOfAnotherSize) {
  folder.write("t10k-images-idx3-ubyte", big_endian(2051) + big_endian(4) + big_endian(1) + big_endian(2) + "12345678");
  EXPECT_THAT(error(), AllOf(HasSubstr("t10k-images-idx3-ubyte"), HasSubstr("1 x 2"), HasSubstr("28 x 28")));
}

TEST_F(DamagedMnist, FilesThatAreSwappedCutOrNotGzip) {
  folder.write("t10k-labels-idx1-ubyte", test::read_file(files + "/digits/t10k-images-idx3-ubyte"));
  EXPECT_THAT(error(), AllOf(HasSubstr("expected 2049"), HasSubstr("found 2051")));
  auto const packed = test::read_file(files + "/digits/train-images-idx3-ubyte.gz");
  folder.write("train-images-idx3-ubyte.gz", packed.substr(0, packed.size() / 2));
  EXPECT_THAT(error(), AllOf(HasSubstr(folder.path("train-images-idx3-ubyte.gz")), HasSubstr("cut short")));
  folder.write("train-images-idx3-ubyte.gz", "<html>");
  EXPECT_THAT(error(), AllOf(HasSubstr(folder.path("train-images-idx3-ubyte.gz")), HasSubstr("not gzip")));
}

TEST(MnistJson, RefusesWhatDoesNotFitAndSaysWhere) {
  std::string image = "[0";
  for (int i = 1; i < 784; ++i) image += ", 1";
  image += "]";
  auto const part = [&](std::string const& images, std::string const& labels) {
    return "[[" + images + "],[" + labels + "]]";
  };
  auto const good = part(image + " ,\n" + image, "3, 9"), empty = part("", "");
  test::TemporaryFolder folder;
  auto const error = [&](std::string const& text) {
    auto const path = folder.write("digits.json", text);
    auto const message = test::message_of<DataError>([&] { fleet::data::read_digits_json(path); });
    EXPECT_THAT(message, AllOf(HasSubstr(path), HasSubstr(" at byte ")));
    return message;
  };
  auto const path = folder.write("good.json", " [" + good + "," + empty + ", " + good + "]\n");
  EXPECT_EQ(fleet::data::read_digits_json(path)[2].size(), 2u);
  EXPECT_EQ(fleet::data::read_digits_json(path)[1].size(), 0u);

  EXPECT_THAT(error(""), AllOf(HasSubstr("at byte 0"), HasSubstr("the end of the file")));
  EXPECT_THAT(error("{\"train\": 1}"), AllOf(HasSubstr("'['"), HasSubstr("at byte 0"), HasSubstr("train")));
  EXPECT_THAT(error("[" + good + "," + empty + "]"), HasSubstr("',' before eval"));
  EXPECT_THAT(error("[" + good + "," + empty + "," + good + "," + good + "]"), HasSubstr("after eval"));
  EXPECT_THAT(error("[" + good + "," + empty + "," + good + "] x"), HasSubstr("nothing after"));
  EXPECT_THAT(error("[" + good.substr(0, good.size() / 2)), HasSubstr("the end of the file"));
  EXPECT_THAT(error("[" + part(image, "1, 2")), AllOf(HasSubstr("train has 1 images and 2 labels")));
  EXPECT_THAT(error("[" + part("[1, 2]", "1")), HasSubstr("image 0 of train has 2"));
  EXPECT_THAT(error("[" + part(image, "10")), HasSubstr("label 0 of train is 10"));
  EXPECT_THAT(error("[" + part(image, "1.5")), HasSubstr("label 0 of train is 1.5"));
  EXPECT_THAT(error("[" + part(image, "-1")), HasSubstr("label 0 of train is -1"));
  for (auto const* number : {"nan", "inf", "1e99", "\"1\"", "null", "[1]", ""})
    EXPECT_THAT(error("[[[[" + std::string{number} + ", 2]]"), HasSubstr("a finite number as a pixel")) << number;
}

}  // namespace
