#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <fleet/comm/communicator.hpp>
#include <fleet/core/aligned.hpp>
#include <fleet/strategy/bucket_plan.hpp>

namespace fleet {

/// What has been sent since the trainer was made.
struct ReductionCounters {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t bytes_copied = 0;             ///< into and out of fused buffers; 0 where gradients lie side by side
  std::vector<std::uint64_t> message_bytes;  ///< of the messages of one step, in the order sent
};

/// Sums gradients over the workers in fused messages that start while the backward pass still runs. Messages leave in
/// one order on every worker, whatever the order in which its gradients became final, so data is paired by identity.
/// Gradients that lie side by side are reduced where they are; others pass through one buffer a message.
class GradientReducer {
 public:
  GradientReducer(std::span<Parameter> parameters, comm::Communicator& workers, BucketLimits limits)
      : parameters_(parameters), workers_(workers), bucket_of_(parameters.size(), none) {
    for (auto& members : plan_buckets(parameters, limits)) {
      for (auto member : members) bucket_of_[member] = buckets_.size();
      buckets_.push_back(make_bucket(std::move(members)));
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
    std::vector<std::size_t> members;  ///< positions of parameters, by address where they lie side by side
    std::span<float> data;             ///< the gradients themselves, or `fused`
    AlignedVector<float> fused;
    std::size_t missing = 0;
    comm::Work work;
  };

  Bucket make_bucket(std::vector<std::size_t> members) const {
    Bucket bucket;
    std::sort(members.begin(), members.end(), [&](auto a, auto b) {
      return std::less<>{}(parameters_[a].gradient.data(), parameters_[b].gradient.data());
    });
    std::size_t count = 0;
    bool side_by_side = true;
    for (auto member : members) {
      side_by_side &= parameters_[member].gradient.data() == parameters_[members.front()].gradient.data() + count;
      count += parameters_[member].gradient.size();
    }
    if (side_by_side) {
      bucket.data = {parameters_[members.front()].gradient.data(), count};
    } else {
      std::sort(members.begin(), members.end());
      bucket.fused.resize(count);
      bucket.data = bucket.fused;
    }
    bucket.members = std::move(members);
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
