#pragma once
#include <chrono>
#include <exception>
#include <filesystem>
#include <string>

#include <fleet/comm/communicator.hpp>
#include <fleet/core/config.hpp>
#include <fleet/train/archive.hpp>

namespace fleet {

struct SaveSettings {
  std::chrono::milliseconds lock_timeout = std::chrono::seconds{30};  ///< wait for another job that saves to this place
  std::chrono::milliseconds timeout = std::chrono::minutes{30};       ///< wait of the workers for the one that writes
};

struct LoadSettings {
  std::string only{};   ///< load the pieces whose names start so, such as "parameters/"; empty: all
  std::string model{};  ///< refuse a checkpoint whose CheckpointInfo::model differs; empty: any
  std::chrono::milliseconds timeout = std::chrono::minutes{30};  ///< wait of the workers for the one that reads
};

/// Saves the archives of all workers as one set: a folder `path` of a file a section (the first part of the pieces'
/// names) and a manifest with sizes and checksums. Called by every worker with the same path; nullptr is a single
/// worker. Only the first touches the disk: a piece that is equal on all workers is stored once, any other once for
/// each. The set is written beside, then put in place of the one before, which stays as `path`.previous, so that at
/// every moment one whole set can be loaded. Throws CheckpointError, the same on every worker, where it cannot be
/// written or another job saves to this place for too long; what was there before stays.
void save_checkpoint(comm::Communicator* workers, std::filesystem::path const& path, CheckpointInfo const& info,
                     SaveArchive const& archive, SaveSettings const& settings = {});

/// What save_checkpoint stored, each worker's own part included. Called by every worker with the same settings. Falls
/// back to `path`.previous, with a warning, only where `path` is missing. Throws CheckpointError, the same on every
/// worker, if a file is missing, damaged, cut short or of another set (it names a good set to load instead, if there is
/// one), if the model is another, or if there are pieces of each worker and the number of workers is another.
[[nodiscard]] LoadArchive load_checkpoint(comm::Communicator* workers, std::filesystem::path const& path,
                                          LoadSettings const& settings = {});

/// Throws CheckpointError on every worker if `fault` is not empty on any, with the text of the lowest such rank.
void fail_together(comm::Communicator* workers, std::string const& fault);

/// Loads `object` (its `archive` member) from all pieces of `archive`. Everything is checked on all workers first, so
/// that an error, the same on every worker, leaves every object as it was. Called by every worker.
template <class Object>
void restore(comm::Communicator* workers, LoadArchive& archive, Object& object) {
  std::string fault;
  try {
    archive.check(object);
  } catch (std::exception const& error) {
    fault = error.what();
  }
  fail_together(workers, fault);
  object.archive(archive);
}

}  // namespace fleet

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/train/detail/checkpoint_impl.hpp>  // IWYU pragma: export
#endif
