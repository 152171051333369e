#pragma once
#include <unistd.h>

#include <chrono>
#include <thread>
#include <utility>

#include <fleet/core/deadline.hpp>
#include <fleet/train/detail/checkpoint_format.hpp>
#include <fleet/train/detail/checkpoint_place.hpp>

namespace fleet::detail {

/// One set on the disk. While it is open nobody removes it, even if others save to the same place. Throws
/// CheckpointError that names the folder, the file and what is wrong.
class CheckpointReader {
 public:
  explicit CheckpointReader(std::filesystem::path path) : path_(std::move(path)) {
    open();
    auto const bytes = contents(manifest_name);
    named(manifest_name, [&] {
      manifest_ = manifest_from({reinterpret_cast<char const*>(bytes.data()), bytes.size()});
    });
  }

  Manifest const& manifest() const { return manifest_; }

  /// The whole file, proved to be complete, unchanged and of this set.
  std::vector<std::byte> read(SectionFile const& file) const {
    auto bytes = contents(file.name);
    named(file.name, [&] {
      FileHeader header;
      if (bytes.size() < sizeof header)
        throw CheckpointError(text("it is cut short: ", bytes.size(), " bytes are left"));
      std::memcpy(&header, bytes.data(), sizeof header);
      if (header.magic != FileHeader{}.magic || header.check != header.sealed().check)
        throw CheckpointError("its header is damaged");
      if (header.version != checkpoint_version)
        throw CheckpointError(text("it has version ", header.version, ", and this program reads ", checkpoint_version));
      if (header.set != manifest_.set)
        throw CheckpointError(
            text("it is of another set, of step ", header.step, ", and this one is of step ", manifest_.info.step));
      if (bytes.size() != file.size)
        throw CheckpointError(text(bytes.size() < file.size ? "it is cut short: " : "it is too long: ", bytes.size(),
                                   " bytes in place of ", file.size));
      if (checksum(0, bytes) != file.check) throw CheckpointError("its checksum differs: it was changed or damaged");
      decode(bytes, [](Piece const&) {});
    });
    return bytes;
  }

 private:
  void open() {
    auto const deadline = Deadline::after(std::chrono::seconds{10});
    for (;; std::this_thread::sleep_for(std::chrono::milliseconds{5})) {
      folder_ = open_folder(path_);
      if (!folder_) fail_with(errno, "open checkpoint", path_);
      auto const lock = try_lock(folder_, LOCK_SH);
      if (lock == Lock::unsupported || (lock == Lock::taken && still_here())) return;
      if (deadline.passed()) fail_with(EBUSY, "open checkpoint", path_);
    }
  }
  /// Whether a writer has put another folder here since it was opened.
  bool still_here() const {
    struct stat opened {
    }, named{};
    return ::fstat(folder_.get(), &opened) == 0 && ::stat(path_.c_str(), &named) == 0 &&
           opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
  }
  std::vector<std::byte> contents(std::string_view name) const {
    std::string const file_name{name};
    Descriptor const file{::openat(folder_.get(), file_name.c_str(), O_RDONLY | O_CLOEXEC)};
    if (!file && errno == ENOENT) named(name, [] { throw CheckpointError("it is missing"); });
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0) fail_with(errno, "read", path_ / file_name);
    if (!S_ISREG(status.st_mode)) named(name, [] { throw CheckpointError("it is not a file"); });
    std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
    for (std::size_t done = 0; done < bytes.size();) {
      auto const got = ::read(file.get(), bytes.data() + done, std::min(bytes.size() - done, std::size_t{1} << 30));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail_with(errno, "read", path_ / file_name);
      if (got == 0) bytes.resize(done);
      done += static_cast<std::size_t>(got);
    }
    return bytes;
  }
  template <class Body>
  void named(std::string_view file, Body body) const {
    try {
      body();
    } catch (CheckpointError const& fault) {
      throw CheckpointError(
          text("fleet: checkpoint ", path_.string(), " cannot be used: ", file, ": ", std::string_view{fault.what()}));
    }
  }

  std::filesystem::path path_;
  Descriptor folder_;
  Manifest manifest_;
};

}  // namespace fleet::detail
