// A steady step allocates nothing. What oneDNN itself does inside a call is not ours to count.
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include <gtest/gtest.h>

#include "nn/probe.hpp"

namespace nn = fleet::nn;

namespace {

std::atomic<bool> counting{false};
std::atomic<int> allocations{0};

/// Whether the code at this address belongs to oneDNN.
bool in_onednn(void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 && info.dli_fname && std::strstr(info.dli_fname, "libdnnl");
}

void* allocate(std::size_t bytes, std::size_t alignment, void* caller) {
  if (counting && !in_onednn(caller)) ++allocations;
  if (void* const memory = std::aligned_alloc(alignment, (bytes + alignment) / alignment * alignment)) return memory;
  throw std::bad_alloc{};
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes, 16, __builtin_return_address(0)); }
void* operator new[](std::size_t bytes) { return allocate(bytes, 16, __builtin_return_address(0)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace {

/// The allocations of a call.
template <class Function>
int count(Function const& function) {
  allocations = 0;
  counting = true;
  function();
  counting = false;
  return allocations;
}

template <class Network>
void expect_steady(Network const& network, fleet::Shape shape) {
  nn::Executor executor{network, nn::SoftmaxCrossEntropy{}};
  test::Batch whole{fleet::Tensor<float>{shape}, fleet::Tensor<std::int64_t>{{shape[0]}}, {}};
  auto other = whole;  // lies elsewhere
  shape[0] /= 2;
  test::Batch half{fleet::Tensor<float>{shape}, fleet::Tensor<std::int64_t>{{shape[0]}}, {}};
  auto const steps = [&] {
    for (auto const* batch : {&whole, &other, &half, &whole}) {
      executor.forward_backward(*batch, [](std::size_t) {});
      executor.predict(*batch);
    }
  };
  EXPECT_GT(count(steps), 0);  // the plans are made
  EXPECT_EQ(count(steps), 0);
}

TEST(Allocation, NoneInASteadyStepOfAPerceptron) {
  expect_steady(nn::Sequential{nn::Linear{6, 8}, nn::Tanh{}, nn::Dropout{}, nn::Linear{8, 4}}, {10, 6});
}

TEST(Allocation, NoneInASteadyStepOfAConvolutionalNetwork) {
  expect_steady(nn::Sequential{nn::Conv2d{1, 20, 5, {.padding = 2}}, nn::ReLU{}, nn::MaxPool2d{2},
                               nn::Residual{nn::Sequential{nn::Conv2d{20, 20, 3, {.padding = 1}}, nn::GELU{}}},
                               nn::Flatten{}, nn::Linear{320, 10}},
                {4, 1, 8, 8});
}

}  // namespace
