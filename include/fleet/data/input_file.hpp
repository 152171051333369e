#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <fleet/core/config.hpp>
#include <fleet/core/error.hpp>

namespace fleet::data {

/// The bytes of a file from front to back: as they are or, where they begin as gzip does, unpacked. A file named
/// *.gz must be gzip. All members throw DataError, with the file and the place in it, for a file that cannot be read,
/// that is cut short or damaged, or that has bytes after the end of its gzip data.
class InputFile {
 public:
  explicit InputFile(std::string path);

  /// Fills `bytes`; returns how many, which is fewer only at the end of the file.
  std::size_t read(std::span<std::byte> bytes);

  std::string const& path() const { return path_; }
  /// Number of (unpacked) bytes read so far.
  std::uint64_t offset() const { return offset_; }
  /// A bound on all (unpacked) bytes, from the size of the file; to be asked before memory is taken on its word.
  std::uint64_t most_bytes() const;

 private:
  struct State;
  struct Close {
    void operator()(State* state) const;
  };

  std::string path_;
  std::uint64_t offset_ = 0;
  std::unique_ptr<State, Close> state_;
};

}  // namespace fleet::data

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/data/detail/input_file_impl.hpp>  // IWYU pragma: export
#endif
