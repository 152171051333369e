#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <tuple>

#include <fleet/train/checkpoint.hpp>

namespace fleet {
namespace detail {

/// A loader's place in its epoch.
template <class Loader>
concept HasPosition = requires(Loader& loader) {
  loader.restore(loader.state());
};

template <class Archive, class State>
void archive_position(Archive& archive, State& state) {
  archive("epoch", state.epoch);
  archive("batch", state.batch);
  archive("items", state.items);
  archive("ranks", state.ranks);
  archive("batch_size", state.batch_size);
  archive("seed", state.seed);
  archive("shuffle", state.shuffle);
}

/// A trainer and what is saved with it, as one thing.
template <class Trainer, class... Extras>
struct Saved {
  Trainer& trainer;
  std::tuple<Extras&...> extras;

  template <class Archive>
  void archive(Archive& archive) {
    std::size_t number = 0;
    std::apply([&](auto&... extra) { (archive_extra(archive, text("extra/", number++), extra), ...); }, extras);
    trainer.archive(archive);
  }

 private:
  template <class Archive, class Extra>
  static void archive_extra(Archive& archive, std::string const& name, Extra& extra) {
    if constexpr (HasPosition<Extra>) {
      auto const scope = archive.scope(name);
      auto state = extra.state();
      archive_position(archive, state);
      if constexpr (Archive::loading) extra.restore(state);
    } else if constexpr (requires { extra.archive(archive); }) {
      archive.nested(name, extra);
    } else {
      archive(name, extra);
    }
  }
};

template <class Trainer>
std::string describe_model(Trainer& trainer) {
  std::string lines;
  for (auto const& parameter : trainer.parameters()) lines += text(parameter.name, " ", parameter.shape.text(), "\n");
  return lines;
}

}  // namespace detail

template <class Trainer, class... Extras>
void save_trainer(Trainer& trainer, std::filesystem::path const& path, Extras&... extras) {
  detail::Saved<Trainer, Extras...> saved{trainer, {extras...}};
  SaveArchive archive;
  saved.archive(archive);
  save_checkpoint(&trainer.workers(), path, {.step = trainer.updates(), .model = detail::describe_model(trainer)},
                  archive);
}

/// Whether a set lies at `path` as the first worker sees it, who reads it; the same on every worker.
template <class Trainer>
bool trainer_has_saved(Trainer& trainer, std::filesystem::path const& path) {
  std::uint8_t found = 0;
  if (trainer.workers().rank() == 0)
    found = std::filesystem::exists(path) || std::filesystem::exists(path.string() + ".previous");
  trainer.workers().broadcast(std::span{&found, 1}, 0);
  return found != 0;
}

template <class Trainer, class... Extras>
void load_trainer(Trainer& trainer, std::filesystem::path const& path, Extras&... extras) {
  auto archive = load_checkpoint(&trainer.workers(), path, {.model = detail::describe_model(trainer)});
  detail::Saved<Trainer, Extras...> saved{trainer, {extras...}};
  restore(&trainer.workers(), archive, saved);
}

template <class Trainer>
void load_trainer_parameters(Trainer& trainer, std::filesystem::path const& path) {
  auto archive = load_checkpoint(&trainer.workers(), path, {.only = "parameters/"});
  struct Parameters {
    Trainer& trainer;
    void archive(LoadArchive& from) { trainer.archive_parameters(from); }
  } parameters{trainer};
  restore(&trainer.workers(), archive, parameters);
}

}  // namespace fleet
