#pragma once
#include <string>
#include <type_traits>
#include <vector>

#include <fleet/comm/communicator.hpp>
#include <fleet/core/type_name.hpp>
#include <fleet/strategy/fuse_all_reduce.hpp>
#include <fleet/strategy/join.hpp>
#include <fleet/train/archive.hpp>
#include <fleet/train/updater.hpp>

namespace fleet {

/// Lines for Trainer::report() on what a strategy lists but one worker has no use for, and on what checkpoints lack.
template <class S, class O, class Policies>
void note_what_does_not_apply(std::vector<std::string>& notes, comm::Communicator const& workers, Policies& policies) {
  if (workers.size() == 1 && S::template contains<FuseAllReduce>)
    notes.emplace_back("FuseAllReduce does nothing: a single worker has nothing to reduce");
  if (workers.size() == 1 && S::template contains<Join>)
    notes.emplace_back("Join does nothing: a single worker waits for nobody");
  if constexpr (!Updater<O>::template saves<SaveArchive>)
    notes.push_back(type_name<O>() + " has no archive(): its state is not part of checkpoints");
  policies.for_each([&]<class R>(std::string const& name, R&) {
    if constexpr (
        !std::is_empty_v<R> && !requires(R & r, SaveArchive & a) { r.archive(a); } &&
        !requires(R & r) { r.validate(); })
      notes.push_back(name + " has no archive(): if it keeps state, that is not part of checkpoints");
  });
}

}  // namespace fleet
