#include <fleet/train/progress.hpp>

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include <gtest/gtest.h>

namespace {

using namespace std::chrono_literals;

/// A file in memory to print to.
class Sheet {
 public:
  Sheet() : file_(open_memstream(&text_, &size_)) {}
  ~Sheet() {
    std::fclose(file_);
    std::free(text_);
  }
  Sheet(Sheet const&) = delete;
  Sheet& operator=(Sheet const&) = delete;
  std::FILE* file() const { return file_; }
  std::string text() const {
    std::fflush(file_);
    return {text_, size_};
  }
  std::size_t lines() const {
    auto const all = text();
    return static_cast<std::size_t>(std::count(all.begin(), all.end(), '\n'));
  }

 private:
  char* text_ = nullptr;
  std::size_t size_ = 0;
  std::FILE* file_;
};

void epoch(fleet::Progress& progress, int steps, std::string_view results = {}) {
  progress.begin_epoch(0, steps);
  for (int i = 0; i < steps; ++i) progress.step(0.5f, 32);
  progress.end_epoch(results);
}

TEST(Progress, PrintsWholeLinesWhereThereIsNoTerminal) {
  Sheet sheet;
  fleet::Progress progress{{.line_interval = 1h, .output = sheet.file()}, 3};
  EXPECT_EQ(progress.style(), fleet::ProgressStyle::lines);
  epoch(progress, 10, "accuracy 0.97");
  auto const text = sheet.text();
  EXPECT_EQ(text.find("epoch 1/3  step 10/10  loss 0.5  "), 0u) << text;
  EXPECT_NE(text.find("examples/s"), std::string::npos);
  EXPECT_TRUE(text.ends_with("  accuracy 0.97\n")) << text;
  EXPECT_EQ(sheet.lines(), 1u);
  EXPECT_EQ(text.find('\r'), std::string::npos);
}

TEST(Progress, PrintsALineEveryPeriod) {
  Sheet sheet;
  fleet::Progress progress{{.print_period = 4, .line_interval = 0ms, .output = sheet.file()}, 1};
  epoch(progress, 12);  // after steps 4 and 8, and at the end
  EXPECT_EQ(sheet.lines(), 3u) << sheet.text();
  EXPECT_NE(sheet.text().find("step 4/12"), std::string::npos);
  EXPECT_NE(sheet.text().find("left\n"), std::string::npos);
}

TEST(Progress, PrintsNoMoreLinesThanTheIntervalAllows) {
  Sheet often, seldom;
  fleet::Progress eager{{.line_interval = 0ms, .output = often.file()}, 1};
  fleet::Progress calm{{.line_interval = 1h, .output = seldom.file()}, 1};
  epoch(eager, 5);
  epoch(calm, 5);
  EXPECT_EQ(often.lines(), 5u);
  EXPECT_EQ(seldom.lines(), 1u);
}

TEST(Progress, GoesOnInTheMiddleOfAnEpochOfUnknownLength) {
  Sheet sheet;
  fleet::Progress progress{{.print_period = 1, .output = sheet.file()}, 2};
  progress.begin_epoch(1, 0, 7);
  progress.step(1.0f, 8);
  progress.end_epoch();
  EXPECT_EQ(sheet.text().find("epoch 2/2  step 8  loss 1  "), 0u) << sheet.text();
  EXPECT_NE(sheet.text().find("so far\n"), std::string::npos) << sheet.text();
  EXPECT_NE(sheet.text().find("\nepoch 2/2  step 8/8"), std::string::npos) << sheet.text();
}

TEST(Progress, DrawsABarInPlace) {
  Sheet sheet;
  fleet::Progress progress{{.style = fleet::ProgressStyle::bar, .bar_interval = 0ms, .output = sheet.file()}, 1};
  progress.begin_epoch(0, 4);
  progress.step(0.25f, 8);
  progress.step(0.25f, 8);
  EXPECT_EQ(sheet.lines(), 0u);
  EXPECT_NE(sheet.text().find("\repoch 1/1  step 2/4  [===="), std::string::npos) << sheet.text();
  progress.message("a note");
  EXPECT_NE(sheet.text().find("\ra note  "), std::string::npos) << sheet.text();
  progress.end_epoch();
  EXPECT_EQ(sheet.lines(), 2u) << sheet.text();
  for (std::size_t begin = 0, end; begin < sheet.text().size(); begin = end + 1) {
    end = std::min(sheet.text().find_first_of("\r\n", begin), sheet.text().size());
    EXPECT_LE(end - begin, 80u) << sheet.text();
  }
}

TEST(Progress, LeavesABrokenOffBarOnALineOfItsOwn) {
  Sheet sheet;
  {
    fleet::Progress progress{{.style = fleet::ProgressStyle::bar, .bar_interval = 0ms, .output = sheet.file()}, 1};
    progress.begin_epoch(0, 4);
    progress.step(0.25f, 8);
  }
  EXPECT_TRUE(sheet.text().ends_with("\n"));
}

TEST(Progress, PrintsNothingWhenToldSo) {
  Sheet sheet;
  fleet::Progress progress{{.style = fleet::ProgressStyle::none, .line_interval = 0ms, .output = sheet.file()}, 1};
  epoch(progress, 3);
  progress.message("a note");
  EXPECT_EQ(sheet.text(), "");
}

TEST(Progress, FindsATerminal) {
  int const controller = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (controller < 0 || ::grantpt(controller) != 0 || ::unlockpt(controller) != 0)
    GTEST_SKIP() << "skipped: no terminals";
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> const terminal{std::fopen(::ptsname(controller), "w"), &std::fclose};
  ASSERT_TRUE(terminal);
  EXPECT_EQ((fleet::Progress{{.output = terminal.get()}, 1}).style(), fleet::ProgressStyle::bar);
  ::close(controller);
}

}  // namespace
