#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <fleet/comm/communicator.hpp>
#include <fleet/core/dtype.hpp>

#include "comm/laws.hpp"

/// Many calls of all kinds, of random sizes and dtypes, each checked against a naive result.
namespace test {

/// FLEET_TEST_OPERATIONS, or a number that takes seconds.
inline int soak_operations() {
  auto const* const text = std::getenv("FLEET_TEST_OPERATIONS");
  return text == nullptr ? 400 : std::atoi(text);
}

class Soak {
 public:
  Soak(Communicator& comm, std::uint32_t seed) : comm_(comm), random_(seed) {}

  /// Returns a digest of all results of this rank.
  std::uint64_t run(int operations) {
    constexpr fleet::DType types[] = {fleet::DType::float32,  fleet::DType::float64, fleet::DType::float16,
                                      fleet::DType::bfloat16, fleet::DType::int32,   fleet::DType::int64,
                                      fleet::DType::uint8,    fleet::DType::uint64};
    for (int i = 0; i < operations; ++i) {
      auto const type = types[random_() % std::size(types)];
      fleet::with_type(type, [&](auto zero) { one<decltype(zero)>(); });
    }
    return digest_;
  }

 private:
  /// Mostly small, at times hundreds of thousands.
  std::size_t any_count() {
    std::size_t const limits[] = {4, 64, 1000, 1000, 20'000, 20'000, 300'000};
    return random_() % limits[random_() % std::size(limits)];
  }

  template <class T>
  void one() {
    auto const seed = static_cast<std::uint32_t>(random_());
    auto const count = any_count();
    auto const op = static_cast<ReduceOp>(random_() % 4);
    int const root = static_cast<int>(random_() % static_cast<std::size_t>(comm_.size()));
    int const own = comm_.rank(), size = comm_.size();
    auto const ranks = static_cast<std::size_t>(size), place = static_cast<std::size_t>(own);
    auto const kind = random_() % 10;
    std::string const what = "soak, operation " + std::to_string(kind) + " of " + std::to_string(count);
    auto data = values<T>(own, count, seed);
    switch (kind) {
      case 0:
      case 1:
        comm_.all_reduce(std::span{data}, op);
        require_close<T>(data, reduced<T>(size, count, op, seed), what);
        break;
      case 2:
        comm_.start_all_reduce(std::span{data}, op).wait();
        require_close<T>(data, reduced<T>(size, count, op, seed), what);
        break;
      case 3:
        comm_.broadcast(std::span{data}, root);
        require(same_bits<T>(data, values<T>(root, count, seed)), what);
        break;
      case 4: {
        std::vector<T> all(count * ranks);
        comm_.all_gather(std::span<T const>{data}, std::span{all});
        data = all;
        for (int rank = 0; rank < size; ++rank)
          require(same_bits<T>(std::span{all}.subspan(static_cast<std::size_t>(rank) * count, count),
                               values<T>(rank, count, seed)),
                  what);
        break;
      }
      case 5: {
        std::size_t const first = place * (count / ranks) + std::min(place, count % ranks);
        std::vector<T> part(count / ranks + (place < count % ranks ? 1 : 0));
        comm_.reduce_scatter(std::span<T const>{data}, std::span{part}, op);
        auto const all = reduced<T>(size, count, op, seed);
        require_close<T>(part, std::span{all}.subspan(first, part.size()), what);
        data = part;
        break;
      }
      case 6: {
        std::vector<T> all(count * ranks);
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = element<T>(own, i, seed);
        std::vector<T> got(all.size());
        comm_.all_to_all(std::span<T const>{all}, std::span{got});
        for (std::size_t i = 0; i < got.size(); ++i)
          require(same_bits<T>({&got[i], 1}, std::vector<T>{element<T>(static_cast<int>(i / count),
                                                                       place * count + i % count, seed)}),
                  what);
        data = got;
        break;
      }
      case 7:
        comm_.reduce(std::span{data}, root, op);
        if (own == root) require_close<T>(data, reduced<T>(size, count, op, seed), what);
        break;
      case 8: {
        int const to = (own + 1) % size, from = (own + size - 1) % size;
        auto const tag = seed;
        comm_.send(std::span<T const>{data}, to, tag);
        comm_.receive(std::span{data}, from, tag);
        require(same_bits<T>(data, values<T>(from, count, seed)), what);
        break;
      }
      default:
        comm_.barrier();
    }
    std::vector<std::uint8_t> bytes(data.size() * sizeof(T));
    if (!data.empty()) std::memcpy(bytes.data(), data.data(), bytes.size());
    for (auto byte : bytes) digest_ = (digest_ ^ byte) * 0x100000001b3u;
  }

  Communicator& comm_;
  std::mt19937 random_;  // the same on all ranks
  std::uint64_t digest_ = 0xcbf29ce484222325u;
};

}  // namespace test
