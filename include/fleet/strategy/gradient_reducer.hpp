#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <fleet/comm/communicator.hpp>
#include <fleet/core/aligned.hpp>
#include <fleet/core/random.hpp>
#include <fleet/strategy/bucket_plan.hpp>

namespace fleet {

/// What has been sent since the trainer was made.
struct ReductionCounters {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t bytes_copied = 0;            ///< into and out of fused buffers; 0 where gradients lie side by side
  std::vector<std::uint64_t> message_bytes;  ///< of the messages of one step, in the order sent
};

/// Sums gradients over the workers in fused messages that start while the backward pass still runs. Messages leave in
/// one order on every worker, whatever the order in which its gradients became final, so data is paired by identity.
/// Gradients that lie side by side, alike on every worker, are reduced where they are; others pass through one buffer a
/// message. Every worker makes one with the same parameters and limits.
class GradientReducer {
 public:
  GradientReducer(std::span<Parameter> parameters, comm::Communicator& workers, BucketLimits limits)
      : parameters_(parameters), workers_(workers), bucket_of_(parameters.size(), none) {
    auto const plan = plan_buckets(parameters, limits);
    auto const in_place = agree_on_layout(plan);
    for (std::size_t i = 0; i < plan.size(); ++i) {
      for (auto member : plan[i]) bucket_of_[member] = i;
      buckets_.push_back(make_bucket(plan[i], in_place[i]));
      counters_.message_bytes.push_back(buckets_.back().data.size_bytes());
    }
  }

  GradientReducer(GradientReducer const&) = delete;
  GradientReducer& operator=(GradientReducer const&) = delete;
  ~GradientReducer() { abandon(); }

  void begin() {
    abandon();
    for (auto& bucket : buckets_) bucket.missing = bucket.members.size();
    started_ = 0;
  }

  /// The gradient of a parameter is final on this worker.
  void ready(std::size_t parameter) {
    if (bucket_of_[parameter] == none) return;
    --buckets_[bucket_of_[parameter]].missing;
    while (started_ + 1 < buckets_.size() && buckets_[started_].missing == 0) start(buckets_[started_++]);
  }

  /// Returns once every gradient is its sum over the workers. All have been reported as ready.
  void finish() {
    if (buckets_.empty()) return;
    while (started_ + 1 < buckets_.size()) start(buckets_[started_++]);
    auto& last = buckets_.back();  // nothing is left to overlap with: no need to hand it to another thread
    pack(last);
    workers_.all_reduce(last.data);
    for (auto& bucket : buckets_) {
      if (&bucket != &last) bucket.work.wait();
      unpack(bucket);
    }
    started_ = 0;
  }

  ReductionCounters const& counters() const { return counters_; }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  struct Bucket {
    std::vector<std::size_t> members;  ///< positions of parameters, in the order of `data`
    std::span<float> data;             ///< the gradients themselves, or `fused`
    AlignedVector<float> fused;
    std::size_t missing = 0;
    comm::Work work;
  };

  std::vector<std::size_t> by_address(std::vector<std::size_t> members) const {
    std::ranges::sort(members, std::less<>{}, [&](auto member) { return parameters_[member].gradient.data(); });
    return members;
  }

  /// A number for the order in which gradients lie side by side; 0 where there are gaps between them.
  std::int64_t layout_of(std::vector<std::size_t> const& members) const {
    std::uint64_t order = 1;
    float const* expected = nullptr;
    for (auto member : by_address(members)) {
      auto const gradient = parameters_[member].gradient;
      if (expected && gradient.data() != expected) return 0;
      expected = gradient.data() + gradient.size();
      order = mix(order ^ member);
    }
    return static_cast<std::int64_t>(order >> 1) | 1;
  }

  /// Which messages can be reduced where they lie: those whose gradients lie alike on every worker.
  std::vector<bool> agree_on_layout(std::vector<std::vector<std::size_t>> const& plan) const {
    std::vector<std::int64_t> least;
    least.reserve(plan.size());
    for (auto const& members : plan) least.push_back(layout_of(members));
    auto greatest = least;
    workers_.all_reduce(std::span{least}, comm::ReduceOp::min);
    workers_.all_reduce(std::span{greatest}, comm::ReduceOp::max);
    std::vector<bool> in_place;
    for (std::size_t i = 0; i < plan.size(); ++i) in_place.push_back(least[i] == greatest[i] && least[i] != 0);
    return in_place;
  }

  Bucket make_bucket(std::vector<std::size_t> const& members, bool in_place) const {
    Bucket bucket;
    std::size_t count = 0;
    for (auto member : members) count += parameters_[member].gradient.size();
    if (in_place) {
      bucket.members = by_address(members);
      bucket.data = {parameters_[bucket.members.front()].gradient.data(), count};
    } else {
      bucket.members = members;
      bucket.fused.resize(count);
      bucket.data = bucket.fused;
    }
    return bucket;
  }

  /// Waits for what a step that failed half-way left under way, since the buffers are in use until then.
  void abandon() {
    for (std::size_t i = 0; i < started_; ++i) try {
        buckets_[i].work.wait();
      } catch (Error const&) {  // the step's own error has been thrown already
      }
    started_ = 0;
  }

  void start(Bucket& bucket) {
    pack(bucket);
    bucket.work = workers_.start_all_reduce(bucket.data);
  }

  void pack(Bucket& bucket) {
    ++counters_.messages;
    counters_.bytes += bucket.data.size_bytes();
    auto at = bucket.fused.begin();
    if (!bucket.fused.empty())
      for (auto member : bucket.members) at = std::ranges::copy(parameters_[member].gradient, at).out;
    counters_.bytes_copied += bucket.fused.size() * sizeof(float);
  }

  void unpack(Bucket& bucket) {
    auto at = bucket.fused.cbegin();
    if (!bucket.fused.empty())
      for (auto member : bucket.members) {
        auto const gradient = parameters_[member].gradient;
        std::copy_n(at, gradient.size(), gradient.begin());
        at += static_cast<std::ptrdiff_t>(gradient.size());
      }
    counters_.bytes_copied += bucket.fused.size() * sizeof(float);
  }

  std::span<Parameter> parameters_;
  comm::Communicator& workers_;
  std::vector<Bucket> buckets_;
  std::vector<std::size_t> bucket_of_;
  std::size_t started_ = 0;
  ReductionCounters counters_;
};

}  // namespace fleet
