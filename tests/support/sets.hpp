#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <fleet/train/checkpoint.hpp>

#include "support/files.hpp"

namespace test {

/// Something to save whose every number tells the step that it is of; `data` is each worker's own.
struct Stamped {
  std::vector<float> parameters, velocity;
  std::vector<std::int64_t> merged, data;

  Stamped(std::size_t elements, std::int64_t step, int worker)
      : parameters(elements, static_cast<float>(step)),
        velocity(elements, static_cast<float>(step)),
        merged(elements, step),
        data(elements, step * 100 + worker) {}

  template <class Archive>
  void archive(Archive& archive) {
    archive("parameters/0.weight", std::span{parameters});
    archive("optimizer/velocity", std::span{velocity});
    archive("strategy/merged", std::span{merged});
    archive("data/order", std::span{data});
  }

  /// Whether everything is of this one step.
  bool is(std::int64_t step, int worker) const {
    auto const all = [](auto const& list, auto value) {
      return std::count(list.begin(), list.end(), value) == std::ssize(list);
    };
    return all(parameters, static_cast<float>(step)) && all(velocity, static_cast<float>(step)) && all(merged, step) &&
           all(data, step * 100 + worker);
  }
};

inline int rank_of(fleet::comm::Communicator* workers) { return workers ? workers->rank() : 0; }

inline void save_step(fleet::comm::Communicator* workers, std::string const& path, std::int64_t step,
                      std::size_t elements = 1000, fleet::SaveSettings const& settings = {}) {
  Stamped state{elements, step, rank_of(workers)};
  fleet::SaveArchive archive;
  state.archive(archive);
  fleet::save_checkpoint(workers, path, {.step = step}, archive, settings);
}

/// The step of the set that loads; -1 if its parts are not all of that one step.
inline std::int64_t load_step(fleet::comm::Communicator* workers, std::string const& path,
                              std::size_t elements = 1000) {
  Stamped state{elements, -1, rank_of(workers)};
  auto archive = fleet::load_checkpoint(workers, path);
  fleet::restore(workers, archive, state);
  return state.is(archive.info().step, rank_of(workers)) ? archive.info().step : -1;
}

inline std::vector<std::string> entries(std::string const& folder) {
  std::vector<std::string> out;
  for (auto const& entry : std::filesystem::directory_iterator{folder}) out.push_back(entry.path().filename().string());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace test
