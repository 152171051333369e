#pragma once
#include <string>
#include <vector>

#include <fleet/train/archive.hpp>

#include "support/golden.hpp"
#include "support/workers.hpp"

namespace test {

/// A model that holds the tensors of a golden file and replays given gradients.
inline Replay replay_of(Json const& tensors) {
  Replay model{{}, {}};
  for (auto const& tensor : tensors) {
    model.names.push_back(tensor.at("name"));
    model.values.push_back(floats(tensor));
  }
  model.gradients = model.values;
  return model;
}

inline Replay::Batch batch_of(Json const& gradients) {
  Replay::Batch batch;
  for (auto const& gradient : gradients) batch.push_back(floats(gradient));
  return batch;
}

/// What a trainer would save under a name: "strategy/LARS/velocity/fc_0.w_0".
template <class Trainer>
std::vector<float> saved(Trainer& trainer, std::string const& name) {
  fleet::SaveArchive archive;
  trainer.archive(archive);
  for (auto const& piece : archive.pieces()) {
    if (piece.name != name) continue;
    std::vector<float> floats(piece.bytes.size() / sizeof(float));
    if (!floats.empty()) std::memcpy(floats.data(), piece.bytes.data(), piece.bytes.size());
    return floats;
  }
  ADD_FAILURE() << "nothing is saved as " << name;
  return {};
}

}  // namespace test
