#include <fleet/data/data_loader.hpp>
#include <fleet/data/tensor_dataset.hpp>

#include <sys/resource.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <new>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace {
std::atomic<std::size_t> allocations{0};

void* allocate(std::size_t bytes, std::size_t alignment) {
  ++allocations;
  if (void* memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment)) return memory;
  throw std::bad_alloc{};
}
}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace {

using fleet::data::DataLoader;
using fleet::data::Share;
using fleet::data::TensorDataset;

TensorDataset dataset() {
  return TensorDataset{
      {.pixels = fleet::Tensor<std::uint8_t>{{1000, 1, 28, 28}}, .labels = fleet::Tensor<std::int64_t>{{1000}}}};
}

std::ptrdiff_t entries(char const* folder) {
  return std::distance(std::filesystem::directory_iterator{folder}, std::filesystem::directory_iterator{});
}

// A thread that was joined may be listed a moment longer.
std::ptrdiff_t threads() {
  auto count = entries("/proc/self/task");
  for (int attempt = 0; attempt < 100 && count > 1; ++attempt) {
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
    count = entries("/proc/self/task");
  }
  return count;
}

TEST(Reader, AllocatesNothingOnceItsBatchesAreMade) {
  auto const digits = dataset();
  for (std::int64_t prefetch : {0, 1, 2}) {
    DataLoader loader{digits, Share{0, 2}, {.batch_size = 16, .shuffle = true, .prefetch = prefetch}};
    std::size_t after_first = 0, at_end = 0;
    for (auto const& batch : loader) {
      ASSERT_GT(batch.size(), 0u);
      // Each batch of the ring has been filled once the loop holds one after them all.
      if (loader.batch() == static_cast<std::uint64_t>(prefetch) + 2) after_first = allocations;
      at_end = allocations;
    }
    EXPECT_GT(after_first, 0u);
    EXPECT_EQ(at_end, after_first) << "prefetch " << prefetch;
  }
}

TEST(Reader, LeavesNoThreadAndNoDescriptor) {
  auto const digits = dataset();
  auto const threads_before = threads();
  auto const descriptors_before = entries("/proc/self/fd");
  for (int i = 0; i < 200; ++i) {
    DataLoader loader{digits, Share{}, {.batch_size = 10, .prefetch = i % 4}};
    for (auto const& batch : loader)
      if (batch.size() == 0 || loader.batch() == static_cast<std::uint64_t>(i % 7)) break;
    auto const once = loader.each_once();
    auto const unread = once.begin();
    auto const open = loader.begin();
  }
  EXPECT_EQ(threads(), threads_before);
  EXPECT_EQ(entries("/proc/self/fd"), descriptors_before);
}

[[noreturn]] void read_without_room_for_a_thread() {
  auto const digits = dataset();
  DataLoader loader{digits, Share{}, {.batch_size = 10}};
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = 1 << 20;  // no address space for a stack
  setrlimit(RLIMIT_AS, &limit);
  try {
    (void)loader.begin();
  } catch (fleet::ConfigurationError const& error) {
    std::fputs(error.what(), stderr);
    std::_Exit(7);
  }
  std::_Exit(0);
}

TEST(ReaderDeathTest, SaysWhichLimitForbidsItsThread) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(read_without_room_for_a_thread(), testing::ExitedWithCode(7),
              "cannot start a thread for a data loader .*prefetch = 0 .*RLIMIT_NPROC");
}

}  // namespace
