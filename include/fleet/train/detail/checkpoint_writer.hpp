#pragma once
#include <unistd.h>
#include <csignal>
#include <ctime>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <random>
#include <span>
#include <thread>
#include <utility>

#include <fleet/core/deadline.hpp>
#include <fleet/core/log.hpp>
#include <fleet/train/detail/checkpoint_format.hpp>
#include <fleet/train/detail/checkpoint_place.hpp>

namespace fleet::detail {

inline constexpr std::string_view save_advice =
    ". What was saved before stays as it is; make room (disk, quota, ulimit -f), or save elsewhere";

/// While it lives, a write beyond the limit of file sizes fails with EFBIG and does not end the process.
class NoFileSizeSignal {
 public:
  NoFileSizeSignal() {
    sigset_t pending;
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGXFSZ) == 1;
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  NoFileSizeSignal(NoFileSizeSignal const&) = delete;
  NoFileSizeSignal& operator=(NoFileSizeSignal const&) = delete;
  ~NoFileSizeSignal() {
    timespec const at_once{};
    while (!was_pending_ && sigtimedwait(&signal_, nullptr, &at_once) < 0 && errno == EINTR) continue;
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t signal_, before_;
  bool was_pending_;
};

/// A new file that counts and checks what it is given, and is on the disk once `close` returns.
class DurableFile {
 public:
  explicit DurableFile(std::filesystem::path path)
      : path_(std::move(path)), file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) {
    if (!file_) fail_with(errno, "create", path_, save_advice);
  }

  void write(std::span<std::byte const> bytes) {
    check_ = checksum(check_, bytes);
    size_ += bytes.size();
    NoFileSizeSignal const guard;
    while (!bytes.empty()) {
      constexpr std::size_t at_most = 1u << 30;
      auto const written = ::write(file_.get(), bytes.data(), std::min(bytes.size(), at_most));
      if (written > 0)
        bytes = bytes.subspan(static_cast<std::size_t>(written));
      else if (written == 0 || errno != EINTR)
        fail_with(errno, "write", path_, save_advice);
    }
  }
  void close() {
    while (::fsync(file_.get()) != 0)
      if (errno != EINTR) fail_with(errno, "write", path_, save_advice);
    file_.reset();
  }
  std::uint64_t size() const { return size_; }
  std::uint32_t check() const { return check_; }

 private:
  std::filesystem::path path_;
  Descriptor file_;
  std::uint64_t size_ = 0;
  std::uint32_t check_ = 0;
};

/// Writes one set beside its place and puts it there at `commit`; gone before that, it leaves nothing behind. The
/// folder beside is locked as long as its writer lives, so that leftovers of dead writers can be told and removed.
/// The folder above is locked only for the moments in which names change.
class CheckpointWriter {
 public:
  CheckpointWriter(std::filesystem::path const& path, CheckpointInfo info, std::chrono::milliseconds lock_timeout)
      : place_(path), lock_timeout_(lock_timeout) {
    manifest_.set = (std::uint64_t{std::random_device{}()} << 32) ^ std::random_device{}();
    manifest_.info = std::move(info);
    std::filesystem::create_directories(place_.parent());
    enter();
    refuse_strangers();
    char host[65] = "host";
    ::gethostname(host, sizeof host - 1);
    work_ = stem().concat(text(std::string_view{host}, '-', ::getpid(), '-', hexadecimal(manifest_.set)));
    if (::mkdir(work_.c_str(), 0777) != 0) fail_with(errno, "create", work_, save_advice);
    works_ = true;
    folder_ = open_folder(work_);
    if (!folder_) fail_with(errno, "open", work_);
    try_lock(folder_, LOCK_EX);
    parent_.reset();
  }
  CheckpointWriter(CheckpointWriter const&) = delete;
  CheckpointWriter& operator=(CheckpointWriter const&) = delete;
  ~CheckpointWriter() {
    std::error_code ignored;
    if (works_) std::filesystem::remove_all(work_, ignored);
  }

  /// `fill(write)` writes all that follows the header. `worker` may be SectionFile::shared.
  template <class Fill>
  void add(std::string_view section, int worker, Fill fill) {
    SectionFile entry{.name = SectionFile::name_of(section, worker), .worker = worker};
    DurableFile file{work_ / entry.name};
    file.write(bytes_of(FileHeader{.set = manifest_.set, .step = manifest_.info.step}.sealed()));
    fill([&](std::span<std::byte const> bytes) { file.write(bytes); });
    file.close();
    entry.size = file.size();
    entry.check = file.check();
    manifest_.files.push_back(std::move(entry));
  }

  void commit() {
    DurableFile file{work_ / manifest_name};
    std::string const manifest = to_text(manifest_);
    file.write(std::as_bytes(std::span{manifest}));
    file.close();
    ::fsync(folder_.get());
    lock_parent(Deadline::after(lock_timeout_));
    refuse_strangers();
    folder_.reset();
    put_in_place();
    ::fsync(parent_.get());
    remove_unless_read(old());
    parent_.reset();
  }

 private:
  std::filesystem::path stem() const { return std::filesystem::path{place_.path}.concat(".saving-"); }
  std::filesystem::path old() const { return std::filesystem::path{work_}.concat("-old"); }

  /// Holds the lock of the folder above, and nobody else is saving to this place.
  void enter() {
    auto const deadline = Deadline::after(lock_timeout_);
    for (;; std::this_thread::sleep_for(std::chrono::milliseconds{20})) {
      if (!lock_parent(deadline)) {
        log(LogLevel::info,
            text("no locks on ", place_.parent().string(), ": leftovers of killed jobs are not removed"));
        return;
      }
      auto const other = clean_up();
      if (other.empty()) return;
      parent_.reset();
      if (deadline.passed())
        throw CheckpointError(text("fleet: another job saves to ", place_.path.string(), " (it writes ", other,
                                   "); nothing was saved. Give each job a place of its own"));
    }
  }
  /// False where the file system knows no locks.
  bool lock_parent(Deadline deadline) {
    parent_ = open_folder(place_.parent());
    if (!parent_) fail_with(errno, "open", place_.parent());
    for (;; std::this_thread::sleep_for(std::chrono::milliseconds{5})) {
      auto const lock = try_lock(parent_, LOCK_EX);
      if (lock != Lock::busy) return lock == Lock::taken;
      if (deadline.passed())
        throw CheckpointError(text("fleet: another process keeps the folder ", place_.parent().string(),
                                   " locked; nothing was saved. Save to another folder"));
    }
  }
  /// Removes what dead writers left; returns the name of one that lives.
  std::string clean_up() const {
    std::string const prefix = stem().filename().string();
    for (auto const& entry : std::filesystem::directory_iterator{place_.parent()}) {
      if (!entry.path().filename().string().starts_with(prefix)) continue;
      if (try_lock(open_folder(entry.path()), LOCK_SH) == Lock::busy) return entry.path().filename().string();
      remove_unless_read(entry.path());
    }
    return {};
  }
  static void remove_unless_read(std::filesystem::path const& path) {
    auto const folder = open_folder(path);
    if (folder && try_lock(folder, LOCK_EX) == Lock::busy) return;  // the next save tries again
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  /// Only a checkpoint is ever replaced or removed.
  void refuse_strangers() const {
    for (auto const& path : {place_.path, place_.previous})
      if (std::filesystem::exists(path) && !std::filesystem::exists(path / manifest_name) &&
          !(std::filesystem::is_directory(path) && std::filesystem::is_empty(path)))
        throw CheckpointError(text("fleet: ", path.string(),
                                   " holds something else than a checkpoint, so nothing is "
                                   "saved over it. Save elsewhere, or move it away"));
  }
  static void move(std::filesystem::path const& from, std::filesystem::path const& to) {
    if (::rename(from.c_str(), to.c_str()) != 0) fail_with(errno, "rename", from, text(" (to ", to.string(), ')'));
  }
  void put_in_place() {
    if (!std::filesystem::exists(place_.path / manifest_name)) {
      move(work_, place_.path);
    } else if (::renameat2(AT_FDCWD, work_.c_str(), AT_FDCWD, place_.path.c_str(), RENAME_EXCHANGE) == 0) {
      works_ = false;
      try {
        make_room();
        move(work_, place_.previous);
      } catch (CheckpointError const& fault) {
        log(LogLevel::warning,
            text("the new checkpoint is in place, but the one before is not kept: ", std::string_view{fault.what()}));
      }
    } else if (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP) {  // then there is a moment without `path`
      make_room();
      move(place_.path, place_.previous);
      try {
        move(work_, place_.path);
      } catch (CheckpointError const&) {
        move(place_.previous, place_.path);
        throw;
      }
    } else {
      fail_with(errno, "replace", place_.path, save_advice);
    }
    works_ = false;
  }
  void make_room() const {
    if (std::filesystem::exists(place_.previous)) move(place_.previous, old());
  }

  CheckpointPlace place_;
  std::chrono::milliseconds lock_timeout_;
  Manifest manifest_;
  std::filesystem::path work_;
  bool works_ = false;  ///< the folder beside exists and is ours to remove
  Descriptor parent_, folder_;
};

}  // namespace fleet::detail
