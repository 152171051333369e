#include <fleet/data/input_file.hpp>

#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "support/files.hpp"

namespace {

using fleet::DataError;
using fleet::data::InputFile;
using testing::AllOf;
using testing::HasSubstr;

std::string content(std::string const& path, std::size_t piece) {
  InputFile file{path};
  std::string all, bytes(piece, '\0');
  std::size_t count = 0;
  do {
    count = file.read(std::as_writable_bytes(std::span{bytes}));
    all.append(bytes, 0, count);
    EXPECT_EQ(file.offset(), all.size());
  } while (count == piece);
  EXPECT_LE(all.size(), file.most_bytes());
  return all;
}

std::string some_text() {
  std::string text;
  for (int i = 0; i < 40000; ++i) text += std::to_string(i * i % 1009) + ' ';
  return text;
}

TEST(InputFile, ReadsPlainAndPackedFilesInPiecesOfAnySize) {
  test::TemporaryFolder folder;
  auto const text = some_text();
  for (std::size_t piece : {1u, 7u, 65536u, 1000000u}) {
    EXPECT_EQ(content(folder.write("plain", text), piece), text);
    EXPECT_EQ(content(folder.write("packed.gz", test::gzip(text)), piece), text);
    EXPECT_EQ(content(folder.write("packed", test::gzip(text)), piece), text);
    EXPECT_EQ(content(folder.write("members.gz", test::gzip(text) + test::gzip("") + test::gzip("end")), piece),
              text + "end");
  }
  EXPECT_EQ(content(folder.write("empty", ""), 5), "");
  EXPECT_EQ(content(folder.write("empty.gz", test::gzip("")), 5), "");
}

TEST(InputFile, SaysWhereAPackedFileIsCutShort) {
  test::TemporaryFolder folder;
  auto const packed = test::gzip("0123456789, and so on: 0123456789");
  for (std::size_t length = 2; length < packed.size(); ++length) {
    auto const path = folder.write("short.gz", packed.substr(0, length));
    auto const message = test::message_of<DataError>([&] { content(path, 100); });
    EXPECT_THAT(message, AllOf(HasSubstr("fleet: " + path), HasSubstr("cut short"),
                               HasSubstr("at byte " + std::to_string(length) + " ")));
  }
}

TEST(InputFile, RefusesADamagedFile) {
  test::TemporaryFolder folder;
  auto const text = some_text();
  auto packed = test::gzip(text);
  for (auto place : {packed.size() / 2, packed.size() - 6, packed.size() - 1}) {  // data, checksum, length
    auto damaged = packed;
    damaged[place] = static_cast<char>(damaged[place] ^ 0x10);
    auto const path = folder.write("damaged.gz", damaged);
    EXPECT_THAT(test::message_of<DataError>([&] { content(path, 1 << 20); }),
                AllOf(HasSubstr(path), HasSubstr("at byte ")));
  }
}

TEST(InputFile, RefusesBytesAfterTheEnd) {
  test::TemporaryFolder folder;
  auto const path = folder.write("long.gz", test::gzip("text") + "more");
  EXPECT_THAT(test::message_of<DataError>([&] { content(path, 100); }),
              AllOf(HasSubstr(path), HasSubstr("after the end of its gzip data")));
}

TEST(InputFile, RefusesWhatIsNotWhatItsNameSays) {
  test::TemporaryFolder folder;
  for (auto const* bytes : {"<html>not found</html>", "x", ""}) {
    auto const path = folder.write("page.gz", bytes);
    EXPECT_THAT(test::message_of<DataError>([&] { InputFile{path}; }),
                AllOf(HasSubstr(path), HasSubstr("is not gzip")));
  }
  EXPECT_THAT(test::message_of<DataError>([&] { InputFile{folder.path("absent")}; }),
              AllOf(HasSubstr(folder.path("absent")), HasSubstr("No such file")));
  EXPECT_THAT(test::message_of<DataError>([&] { InputFile{folder.path()}; }), HasSubstr("directory"));
}

}  // namespace
