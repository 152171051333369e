#pragma once
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <fleet/core/random.hpp>
#include <fleet/train/archive.hpp>
#include <fleet/train/distribute.hpp>

#include "support/workers.hpp"

namespace test {

/// A bowl with noise that depends on (step, worker): tensors of 0, 1, 5 and 40 elements.
struct Bowl {
  std::vector<std::vector<float>> values{{}, {1}, std::vector<float>(5, -1), std::vector<float>(40, 2)},
      gradients{values};
  int worker;

  explicit Bowl(fleet::Job const& job) : worker(job.worker_index()) {}

  std::vector<fleet::Parameter> parameters() {
    std::vector<fleet::Parameter> list;
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::string const name = (i % 2 ? "bias" : "weight") + std::to_string(i);
      list.emplace_back(name, values[i], gradients[i]);
    }
    return list;
  }
  float forward_backward(int step) {
    float loss = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      for (std::size_t j = 0; j < values[i].size(); ++j) {
        auto const noise = fleet::Random{5}.split(step, worker, i, j).normal();
        gradients[i][j] = values[i][j] - static_cast<float>(j) / 8 + 0.1f * noise;
        loss += 0.5f * gradients[i][j] * gradients[i][j];
      }
    return loss;
  }
};

struct Laws {
  bool alone_is_plain = true;    ///< on one worker it changes nothing
  bool equal_every_step = true;  ///< all workers hold the same bytes after every step, not only after an exchange
  int steps = 12;                ///< a multiple of every window, so that the last step ends one
};

using Trace = std::vector<std::vector<std::vector<float>>>;  ///< [step][parameter][element]

/// Trains `laws.steps` steps; at step `resume_at` the state moves through an archive into new objects.
template <class Optimizer, class Strategy>
std::vector<Trace> trace(int workers, Optimizer const& optimizer, Strategy const& strategy, Laws laws,
                         int resume_at = -1) {
  return collect(workers, [&](fleet::Job& job) {
    Trace out;
    fleet::SaveArchive saved;
    std::optional<fleet::LoadArchive> loaded;
    auto const run = [&](int begin, int end, bool save) {
      Bowl model{job};
      auto trainer = fleet::distribute(job, model, optimizer, strategy);
      if (loaded) {
        loaded->check(trainer);
        trainer.archive(*loaded);
      }
      for (int step = begin; step < end; ++step) {
        trainer.step(step);
        out.push_back(model.values);
      }
      if (!save) return;
      trainer.archive(saved);
      loaded.emplace(saved);
    };
    if (resume_at >= 0) run(0, resume_at, true);
    run(std::max(resume_at, 0), laws.steps, false);
    return out;
  });
}

/// What holds for every policy, whatever it does.
template <class Optimizer, class Strategy>
void policy_laws(Optimizer const& optimizer, Strategy const& strategy, Laws laws = {}) {
  SCOPED_TRACE(strategy.text());
  if (laws.alone_is_plain) {
    EXPECT_EQ(trace(1, optimizer, strategy, laws), trace(1, optimizer, fleet::Strategy{}, laws));
  }
  for (int workers : {1, 2, 3}) {
    SCOPED_TRACE(workers);
    auto const ranks = trace(workers, optimizer, strategy, laws);
    EXPECT_EQ(trace(workers, optimizer, strategy, laws), ranks) << "two runs agree to the bit";
    for (auto const& rank : ranks) {
      if (laws.equal_every_step) {
        EXPECT_EQ(rank, ranks[0]) << "all workers hold the same bytes";
      } else {
        EXPECT_EQ(rank.back(), ranks[0].back()) << "all workers hold the same bytes after an exchange";
      }
    }
    for (int resume_at : {5, 6})
      EXPECT_EQ(trace(workers, optimizer, strategy, laws, resume_at), ranks)
          << "resuming at step " << resume_at << " changes nothing";
  }
}

}  // namespace test
