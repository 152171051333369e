#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fleet/comm/communicator.hpp>
#include <fleet/core/dtype.hpp>
#include <fleet/core/error.hpp>

#include "support/require.hpp"

/// What every engine owes to its callers. A suite instantiates them with a function that runs ranks.
namespace test {

using fleet::comm::Communicator;
using fleet::comm::ReduceOp;
using RankMain = std::function<void(Communicator&)>;

/// Runs `rank_main` on `size` ranks and throws what the first to fail threw.
struct Runner {
  std::string name;
  std::function<void(int size, RankMain const&)> run;
  int size;
};

template <class T>
T element(int rank, std::size_t index, std::uint32_t seed) {
  auto mixed = static_cast<std::uint32_t>(index) * 2654435761u + static_cast<std::uint32_t>(rank) * 40503u + seed;
  mixed ^= mixed >> 15;
  mixed *= 2246822519u;
  mixed ^= mixed >> 13;
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(mixed % 100u);
  else
    return static_cast<T>(static_cast<float>(mixed % 4096u) / 512.0f - 4.0f);
}

template <class T>
std::vector<T> values(int rank, std::size_t count, std::uint32_t seed = 0) {
  std::vector<T> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = element<T>(rank, i, seed);
  return out;
}

template <class T>
double wide(T value) {
  if constexpr (sizeof(T) == 2)
    return static_cast<float>(value);
  else
    return static_cast<double>(value);
}

/// The result of a reduction over all ranks, computed naively and in double or in wrapping integers.
template <class T>
std::vector<T> reduced(int size, std::size_t count, ReduceOp op, std::uint32_t seed = 0) {
  auto const fold = [op](auto a, auto b) {
    using A = decltype(a);
    switch (op) {
      case ReduceOp::sum:
        return static_cast<A>(a + b);
      case ReduceOp::prod:
        return static_cast<A>(a * b);
      case ReduceOp::max:
        return std::max(a, b);
      default:
        return std::min(a, b);
    }
  };
  std::vector<T> out(count);
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (std::is_integral_v<T>) {
      auto sum = static_cast<std::uint64_t>(element<T>(0, i, seed));
      for (int r = 1; r < size; ++r) sum = fold(sum, static_cast<std::uint64_t>(element<T>(r, i, seed)));
      out[i] = static_cast<T>(sum);
    } else {
      double sum = wide(element<T>(0, i, seed));
      for (int r = 1; r < size; ++r) sum = fold(sum, wide(element<T>(r, i, seed)));
      if constexpr (sizeof(T) == 2)
        out[i] = T{static_cast<float>(sum)};
      else
        out[i] = static_cast<T>(sum);
    }
  }
  return out;
}

/// Equal but for what the order of additions may change.
template <class T>
void require_close(std::span<T const> got, std::span<T const> right, std::string const& what) {
  require(got.size() == right.size(), what + ": length");
  for (std::size_t i = 0; i < got.size(); ++i) {
    double const a = wide(got[i]), b = wide(right[i]);
    double const tolerance = std::is_integral_v<T> ? 0 : (sizeof(T) == 2 ? 1e-2 : sizeof(T) == 4 ? 1e-5 : 1e-12);
    if (std::abs(a - b) > tolerance * std::max(1.0, std::abs(b)))
      throw std::runtime_error(what + " at " + std::to_string(i) + ": " + std::to_string(a) + " and not " +
                               std::to_string(b));
  }
}

template <class T>
bool same_bits(std::span<T const> a, std::span<T const> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

/// All ranks hold the same bytes as rank 0.
template <class T>
void require_same_on_all(Communicator& comm, std::vector<T> const& data, std::string const& what) {
  auto bytes = std::vector<std::uint8_t>(data.size() * sizeof(T));
  if (!data.empty()) std::memcpy(bytes.data(), data.data(), bytes.size());
  auto first = bytes;
  comm.broadcast(std::span{first}, 0);
  require(first == bytes, what + ": ranks hold different bits");
}

inline std::vector<std::size_t> const& law_sizes() {
  static std::vector<std::size_t> const sizes{0, 1, 3, 257, 20'011, 100'003};
  return sizes;
}

template <class T>
void reductions_hold(Communicator& comm) {
  for (auto op : {ReduceOp::sum, ReduceOp::max, ReduceOp::min, ReduceOp::prod}) {
    for (auto count : law_sizes()) {
      std::string const what = std::string{name(fleet::dtype_of<T>)} + " op " + std::to_string(static_cast<int>(op)) +
                               " of " + std::to_string(count);
      auto const right = reduced<T>(comm.size(), count, op);
      auto data = values<T>(comm.rank(), count);
      comm.all_reduce(std::span{data}, op);
      require_close<T>(data, right, "all_reduce " + what);
      require_same_on_all(comm, data, "all_reduce " + what);
      auto again = values<T>(comm.rank(), count);
      comm.start_all_reduce(std::span{again}, op).wait();
      require(same_bits<T>(data, again), "all_reduce again " + what);

      int const root = static_cast<int>(count) % comm.size();
      auto kept = values<T>(comm.rank(), count);
      comm.reduce(std::span{kept}, root, op);
      if (comm.rank() == root)
        require_close<T>(kept, right, "reduce " + what);
      else
        require(same_bits<T>(kept, values<T>(comm.rank(), count)), "reduce changed another rank's data");

      std::size_t const ranks = static_cast<std::size_t>(comm.size()), own = static_cast<std::size_t>(comm.rank());
      std::vector<std::size_t> counts(ranks, count / ranks);
      counts[ranks - 1] += count % ranks;
      std::vector<T> part(counts[own]);
      comm.reduce_scatter(std::span<T const>{values<T>(comm.rank(), count)}, std::span{part}, op, counts);
      require_close<T>(part, std::span{right}.subspan(own * (count / ranks), counts[own]), "reduce_scatter " + what);
    }
  }
}

template <class T>
void movements_hold(Communicator& comm) {
  auto const ranks = static_cast<std::size_t>(comm.size()), own = static_cast<std::size_t>(comm.rank());
  for (auto count : law_sizes()) {
    std::string const what = std::string{name(fleet::dtype_of<T>)} + " of " + std::to_string(count);
    for (int root = 0; root < comm.size(); ++root) {
      auto data = values<T>(comm.rank(), count);
      comm.broadcast(std::span{data}, root);
      require(same_bits<T>(data, values<T>(root, count)), "broadcast " + what);

      std::vector<T> all(comm.rank() == root ? count * ranks : 0);
      comm.gather(std::span<T const>{values<T>(comm.rank(), count)}, std::span{all}, root);
      if (comm.rank() == root)
        for (std::size_t r = 0; r < ranks; ++r)
          require(same_bits<T>(std::span{all}.subspan(r * count, count), values<T>(static_cast<int>(r), count)),
                  "gather " + what);

      std::vector<T> part(count);
      comm.scatter(std::span<T const>{all}, std::span{part}, root);
      require(same_bits<T>(part, values<T>(comm.rank(), count)), "scatter " + what);
    }
    std::vector<T> all(count * ranks), sent, got(count * ranks);
    comm.all_gather(std::span<T const>{values<T>(comm.rank(), count)}, std::span{all});
    for (std::size_t r = 0; r < ranks; ++r)
      require(same_bits<T>(std::span{all}.subspan(r * count, count), values<T>(static_cast<int>(r), count)),
              "all_gather " + what);
    for (std::size_t r = 0; r < ranks; ++r) {
      auto const part = values<T>(comm.rank(), count, static_cast<std::uint32_t>(r));
      sent.insert(sent.end(), part.begin(), part.end());
    }
    comm.all_to_all(std::span<T const>{sent}, std::span{got});
    for (std::size_t r = 0; r < ranks; ++r)
      require(same_bits<T>(std::span{got}.subspan(r * count, count),
                           values<T>(static_cast<int>(r), count, static_cast<std::uint32_t>(own))),
              "all_to_all " + what);
  }
}

class CommunicatorLaws : public testing::TestWithParam<Runner> {
 protected:
  void on_all(RankMain const& rank_main) { EXPECT_NO_THROW(GetParam().run(GetParam().size, rank_main)); }
};

TEST_P(CommunicatorLaws, reductions_are_right_and_equal_on_all_ranks) {
  on_all([](Communicator& comm) {
    reductions_hold<float>(comm);
    reductions_hold<double>(comm);
    reductions_hold<fleet::float16>(comm);
    reductions_hold<fleet::bfloat16>(comm);
    reductions_hold<std::int32_t>(comm);
    reductions_hold<std::int64_t>(comm);
    reductions_hold<std::uint8_t>(comm);
    reductions_hold<std::uint64_t>(comm);
  });
}

TEST_P(CommunicatorLaws, movements_bring_every_element_to_its_place) {
  on_all([](Communicator& comm) {
    movements_hold<float>(comm);
    movements_hold<std::uint8_t>(comm);
    movements_hold<double>(comm);
  });
}

TEST_P(CommunicatorLaws, sums_of_half_types_are_rounded_once) {
  on_all([](Communicator& comm) {
    for (std::size_t count : {std::size_t{5}, std::size_t{100'000}}) {
      std::vector<fleet::bfloat16> data(count, fleet::bfloat16{comm.rank() == 0 ? 256.0f : 0.75f});
      comm.all_reduce(std::span{data});
      fleet::bfloat16 const right{256.0f + 0.75f * static_cast<float>(comm.size() - 1)};
      for (auto value : data) require(value.bits == right.bits, "a sum was rounded on the way");
    }
  });
}

TEST_P(CommunicatorLaws, unequal_and_empty_shares) {
  on_all([](Communicator& comm) {
    auto const ranks = static_cast<std::size_t>(comm.size()), own = static_cast<std::size_t>(comm.rank());
    std::vector<std::size_t> const pattern{2, 0, 1, 0};
    std::vector<std::size_t> counts(ranks);
    std::vector<std::int32_t> right;
    for (std::size_t r = 0; r < ranks; ++r) {
      counts[r] = pattern[r % pattern.size()];
      for (std::size_t i = 0; i < counts[r]; ++i) right.push_back(static_cast<std::int32_t>(10 * r + i));
    }
    std::vector<std::int32_t> share;
    for (std::size_t i = 0; i < counts[own]; ++i) share.push_back(static_cast<std::int32_t>(10 * own + i));
    require(comm.all_gather(share) == right, "all_gather of shares whose sizes only the owners know");
    std::vector<std::int32_t> all(right.size());
    comm.all_gather(std::span<std::int32_t const>{share}, std::span{all}, counts);
    require(all == right, "all_gather with counts");

    // 3 elements over the ranks, in parts as equal as can be: the first ones have one, the others none.
    std::vector<float> const input{1, 2, 3};
    std::vector<float> part(3 / ranks + (own < 3 % ranks ? 1 : 0));
    comm.reduce_scatter(std::span{input}, std::span{part});
    std::size_t const offset = own * (3 / ranks) + std::min(own, 3 % ranks);
    for (std::size_t i = 0; i < part.size(); ++i)
      require(part[i] == static_cast<float>(comm.size()) * input[offset + i], "reduce_scatter of 3 elements");
    comm.barrier();
  });
}

TEST_P(CommunicatorLaws, queued_calls_run_in_the_order_of_their_start) {
  on_all([](Communicator& comm) {
    std::vector<std::vector<float>> buffers(20);
    std::vector<fleet::comm::Work> work;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      buffers[i].assign(1 + 5000 * i, static_cast<float>(i));
      work.push_back(comm.start_all_reduce(std::span{buffers[i]}));
      if (i % 5 == 0) comm.barrier();
    }
    float after = 1;
    comm.all_reduce(std::span{&after, 1});
    require(after == static_cast<float>(comm.size()), "a blocking call among queued ones");
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      require(work[i].done(), "a call that was started before another ended after it");
      work[i].wait();
      work[i].wait();
      for (float value : buffers[i])
        require(value == static_cast<float>(i) * static_cast<float>(comm.size()), "queued");
    }
    require(comm.counters().operations >= 25, "counters");
  });
}

TEST_P(CommunicatorLaws, messages_are_told_apart_by_their_tags) {
  on_all([](Communicator& comm) {
    int const right = (comm.rank() + 1) % comm.size(), left = (comm.rank() + comm.size() - 1) % comm.size();
    std::vector<double> const first(7, comm.rank()), second(700'000, comm.rank() + 0.5);
    comm.send(std::span{first}, right, 1);
    comm.send(std::span{second}, right, 2);  // all send at once, and more than any buffer holds
    comm.barrier();
    std::vector<double> got_second(second.size()), got_first(first.size());
    comm.receive(std::span{got_second}, left, 2);
    comm.receive(std::span{got_first}, left, 1);
    require(got_first == std::vector<double>(7, left) && got_second == std::vector<double>(700'000, left + 0.5),
            "tags");
  });
}

TEST_P(CommunicatorLaws, split_makes_groups_in_the_order_of_their_keys) {
  on_all([](Communicator& comm) {
    auto const half = comm.split(comm.rank() % 2, -comm.rank());
    int const members = (comm.size() + 1 - comm.rank() % 2) / 2;
    require(half->size() == members, "size of a split group");
    std::vector<std::int32_t> ranks(static_cast<std::size_t>(members));
    std::int32_t const own = comm.rank();
    half->all_gather(std::span{&own, 1}, std::span{ranks});
    require(std::is_sorted(ranks.rbegin(), ranks.rend()), "order in a split group");
    require(ranks[static_cast<std::size_t>(half->rank())] == own, "rank in a split group");
    auto const again = half->split(0);
    float one = 1;
    again->all_reduce(std::span{&one, 1});
    require(one == static_cast<float>(members), "a group of a group");
    comm.barrier();
  });
}

TEST_P(CommunicatorLaws, sizes_that_do_not_fit_are_refused_and_do_no_harm) {
  on_all([](Communicator& comm) {
    auto const refused = [](auto&& call) {
      try {
        call();
      } catch (fleet::ContractError const&) {
        return;
      }
      require(false, "a call with wrong sizes was made");
    };
    std::vector<float> data(5), more(5 * static_cast<std::size_t>(comm.size()) + 1);
    refused([&] { comm.all_gather(std::span<float const>{data}, std::span{more}); });
    refused([&] { comm.broadcast(std::span{data}, comm.size()); });
    refused([&] { comm.reduce(std::span{data}, -1); });
    refused([&] { comm.all_to_all(std::span<float const>{data}, std::span{more}); });
    std::vector<std::size_t> const counts(static_cast<std::size_t>(comm.size()) + 1, 1);
    refused([&] { comm.all_gather(std::span<float const>{data}, std::span{more}, counts); });
    float one = 1;
    comm.all_reduce(std::span{&one, 1});
    require(one == static_cast<float>(comm.size()), "a call after refused ones");
  });
}

}  // namespace test
