#pragma once
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include <fleet/core/descriptor.hpp>
#include <fleet/core/error.hpp>

namespace fleet::detail {

/// Where a set lies, and the one before it.
struct CheckpointPlace {
  std::filesystem::path path, previous;

  explicit CheckpointPlace(std::filesystem::path const& given) {
    if (!given.empty()) path = std::filesystem::weakly_canonical(std::filesystem::absolute(given));
    if (!path.has_filename()) path = path.parent_path();
    if (!path.has_filename())
      throw CheckpointError(text("fleet: \"", given.string(), "\" cannot be a checkpoint; name a folder for it"));
    previous = path;
    previous += ".previous";
  }
  std::filesystem::path parent() const { return path.parent_path(); }
};

[[noreturn]] inline void fail_with(int code, std::string_view what, std::filesystem::path const& path,
                                   std::string_view advice = "") {
  throw CheckpointError(
      text("fleet: cannot ", what, ' ', path.string(), ": ", std::generic_category().message(code), advice));
}

inline Descriptor open_folder(std::filesystem::path const& path) {
  return Descriptor{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
}

enum class Lock { taken, busy, unsupported };

/// `how` is LOCK_SH or LOCK_EX; the lock ends with the descriptor. Some network file systems have none on folders.
inline Lock try_lock(Descriptor const& folder, int how) {
  while (::flock(folder.get(), how | LOCK_NB) != 0)
    if (errno != EINTR) return errno == EWOULDBLOCK ? Lock::busy : Lock::unsupported;
  return Lock::taken;
}

}  // namespace fleet::detail
