#pragma once
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <fleet/core/log.hpp>
#include <fleet/train/checkpoint.hpp>
#include <fleet/train/detail/checkpoint_reader.hpp>
#include <fleet/train/detail/checkpoint_workers.hpp>
#include <fleet/train/detail/checkpoint_writer.hpp>

namespace fleet {
namespace detail {

using Digest = std::array<std::byte, 32>;

/// Of all that a piece is: equal digests are equal pieces.
inline Digest digest_of(Piece const& piece) {
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> const context{EVP_MD_CTX_new()};
  Digest digest;
  bool good = context && EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1;
  Piece const* const pieces[] = {&piece};
  encode(pieces, [&](auto bytes) { good = good && EVP_DigestUpdate(context.get(), bytes.data(), bytes.size()) == 1; });
  if (!good || EVP_DigestFinal_ex(context.get(), reinterpret_cast<unsigned char*>(digest.data()), nullptr) != 1)
    throw CheckpointError("fleet: libcrypto cannot compute SHA-256, which compares the workers' pieces");
  return digest;
}

using Sections = std::map<std::string, std::vector<Piece const*>>;
struct SortedPieces {
  Sections shared, own;
};

/// Which of this worker's pieces are equal on all workers.
inline SortedPieces sort_pieces(CheckpointWorkers& workers, std::span<Piece const> pieces) {
  std::vector<Digest> digests;
  std::vector<std::byte> table;  // the digests of the first worker, which cover the names
  if (workers.size() > 1)
    for (auto const& piece : pieces) digests.push_back(digest_of(piece));
  if (workers.first())
    for (auto const& digest : digests) table.insert(table.end(), digest.begin(), digest.end());
  workers.broadcast(table, 0);

  std::map<Digest, std::size_t> places;
  for (std::size_t i = 0; i < table.size() / sizeof(Digest); ++i) {
    Digest digest;
    std::memcpy(digest.data(), table.data() + i * sizeof digest, sizeof digest);
    places.emplace(digest, i);
  }
  std::vector<std::uint8_t> everywhere(places.size());
  for (auto const& digest : digests)
    if (auto const at = places.find(digest); at != places.end()) everywhere[at->second] = 1;
  workers.all_reduce_min(everywhere);

  SortedPieces out;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    auto const at = digests.empty() ? places.end() : places.find(digests[i]);
    bool const shared = workers.size() == 1 || (at != places.end() && everywhere[at->second]);
    (shared ? out.shared : out.own)[section_of(pieces[i].name)].push_back(&pieces[i]);
  }
  return out;
}

/// A worker's own sections in one message: for each, the length of its name, the name, the length of the rest, the
/// rest.
inline std::vector<std::byte> pack(Sections const& sections) {
  std::vector<std::byte> out;
  auto const append = [&](std::span<std::byte const> bytes) { out.insert(out.end(), bytes.begin(), bytes.end()); };
  for (auto const& [name, pieces] : sections) {
    append(bytes_of(std::uint64_t{name.size()}));
    append(std::as_bytes(std::span{name}));
    auto const length_at = out.size();
    append(bytes_of(std::uint64_t{0}));
    encode(std::span{pieces}, append);
    std::uint64_t const length = out.size() - length_at - sizeof(std::uint64_t);
    std::memcpy(out.data() + length_at, &length, sizeof length);
  }
  return out;
}

inline void add_sections(CheckpointWriter& writer, Sections const& sections, int worker) {
  for (auto const& section : sections)
    writer.add(section.first, worker, [&](auto write) { encode(std::span{section.second}, write); });
}

inline void add_packed(CheckpointWriter& writer, std::span<std::byte const> message, int worker) {
  for (Cursor cursor{message}; !cursor.at_end();) {
    auto const name = cursor.bytes(cursor.value<std::uint64_t>());
    auto const body = cursor.bytes(cursor.value<std::uint64_t>());
    writer.add({reinterpret_cast<char const*>(name.data()), name.size()}, worker, [&](auto write) { write(body); });
  }
}

/// Whether a section can hold pieces that `only` asks for.
inline bool is_wanted(SectionFile const& file, std::string_view only) {
  return only.empty() || SectionFile::name_of(section_of(only), file.worker) == file.name;
}

/// Opens the set, or the one before where there is none.
class CheckpointSource {
 public:
  explicit CheckpointSource(std::filesystem::path const& path) : place_(path), folder_(place_.path) {
    if (!std::filesystem::exists(folder_)) {
      if (!std::filesystem::exists(place_.previous))
        throw CheckpointError(text("fleet: there is no checkpoint at ", folder_.string()));
      folder_ = place_.previous;
      log(LogLevel::warning,
          text("there is no checkpoint at ", place_.path.string(), "; loading the one before it, ", folder_.string()));
    }
    offering([&] { reader_.emplace(folder_); });
  }

  std::filesystem::path const& folder() const { return folder_; }
  Manifest const& manifest() const { return reader_->manifest(); }
  std::vector<std::byte> read(SectionFile const& file) const {
    return offering([&] { return reader_->read(file); });
  }

 private:
  /// Where `body` finds damage, the error also tells what can be loaded instead.
  template <class Body>
  auto offering(Body body) const -> decltype(body()) {
    try {
      return body();
    } catch (CheckpointError const& fault) {
      throw CheckpointError(text(std::string_view{fault.what()}, ". ", offer()));
    }
  }
  std::string offer() const {
    if (folder_ == place_.previous || !std::filesystem::exists(place_.previous))
      return "There is no set before it; load another checkpoint";
    try {
      CheckpointReader const other{place_.previous};
      for (auto const& file : other.manifest().files) (void)other.read(file);
      return text("The set before it, ", place_.previous.string(), " of step ", other.manifest().info.step,
                  ", is whole: load that one");
    } catch (CheckpointError const& fault) {
      return text("The set before it is no better: ", std::string_view{fault.what()});
    }
  }

  CheckpointPlace place_;
  std::filesystem::path folder_;
  std::optional<CheckpointReader> reader_;
};

/// A model's description as a manifest gives it back.
inline std::string as_saved(std::string const& model) {
  return manifest_from(to_text({.set = 0, .info = {.model = model}, .files = {}})).info.model;
}

inline std::string first_difference(std::string_view saved, std::string_view wanted) {
  auto const line = [](std::string_view& lines) {
    auto const out = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(out.size() + 1, lines.size()));
    return out.empty() ? std::string_view{"nothing more"} : out;
  };
  for (;;) {
    auto const one = line(saved), other = line(wanted);
    if (one != other || (saved.empty() && wanted.empty())) return text("it has ", one, " where this one has ", other);
  }
}

inline void refuse_unfit(CheckpointSource const& source, LoadSettings const& settings, int workers) {
  auto const& manifest = source.manifest();
  auto const wanted = as_saved(settings.model);
  if (!wanted.empty() && manifest.info.model != wanted)
    throw CheckpointError(text("fleet: checkpoint ", source.folder().string(), " (step ", manifest.info.step,
                               ") is of another model: ", first_difference(manifest.info.model, wanted),
                               ". Build the model as it was when it was saved"));
  if (manifest.info.workers == workers) return;
  std::set<std::string_view> owned;
  for (auto const& file : manifest.files)
    if (file.worker != SectionFile::shared && is_wanted(file, settings.only)) owned.insert(file.section());
  if (owned.empty()) return;
  std::string sections;
  for (auto const& section : owned) sections += text(sections.empty() ? "" : ", ", section);
  throw CheckpointError(
      text("fleet: checkpoint ", source.folder().string(), " (step ", manifest.info.step,
           ") holds a state of its own for each of ", manifest.info.workers, " workers (", sections,
           "), and this job has ", workers, ". Start as many workers",
           owned.contains("parameters") ? "" : ", or load the parameters alone (only = \"parameters/\")"));
}

}  // namespace detail

FLEET_BODY void save_checkpoint(comm::Communicator* communicator, std::filesystem::path const& path,
                                CheckpointInfo const& info, SaveArchive const& archive, SaveSettings const& settings) {
  detail::CheckpointWorkers workers{communicator, settings.timeout};
  auto const pieces = detail::sort_pieces(workers, archive.pieces());
  std::optional<detail::CheckpointWriter> writer;
  workers.on_first([&] {
    CheckpointInfo stamped = info;
    stamped.workers = workers.size();
    writer.emplace(path, std::move(stamped), settings.lock_timeout);
    detail::add_sections(*writer, pieces.shared, detail::SectionFile::shared);
    detail::add_sections(*writer, pieces.own, 0);
  });
  auto message = workers.first() ? std::vector<std::byte>{} : detail::pack(pieces.own);
  auto const sizes = workers.gather(message.size());
  std::exception_ptr fault;  // the others send all the same: take it, and tell them at the end
  for (std::size_t rank = 1; rank < sizes.size(); ++rank) {
    if (sizes[rank] == 0) continue;
    message.resize(sizes[rank]);
    workers.receive(message, static_cast<int>(rank));
    try {
      if (!fault) detail::add_packed(*writer, message, static_cast<int>(rank));
    } catch (std::exception const&) {
      fault = std::current_exception();
    }
  }
  if (!workers.first() && !message.empty()) workers.send(message, 0);
  workers.on_first([&] {
    if (fault) std::rethrow_exception(fault);
    writer->commit();
  });
}

FLEET_BODY LoadArchive load_checkpoint(comm::Communicator* communicator, std::filesystem::path const& path,
                                       LoadSettings const& settings) {
  detail::CheckpointWorkers workers{communicator, settings.timeout};
  std::optional<detail::CheckpointSource> source;
  std::string head, folder, only = settings.only;
  workers.on_first([&] {
    source.emplace(path);
    detail::refuse_unfit(*source, settings, workers.size());
    head = detail::to_text(source->manifest());
    folder = source->folder().string();
  });
  workers.broadcast(head, 0);
  workers.broadcast(folder, 0);
  workers.broadcast(only, 0);
  auto const manifest = detail::manifest_from(head);
  LoadArchive archive{manifest.info, text("checkpoint ", folder, " (step ", manifest.info.step, ")")};
  for (auto const& file : manifest.files) {
    if (!detail::is_wanted(file, only)) continue;
    std::vector<std::byte> bytes;
    workers.on_first([&] { bytes = source->read(file); });
    if (file.worker == detail::SectionFile::shared) {
      workers.broadcast(bytes, 0);
    } else if (file.worker > 0 && workers.first()) {
      workers.send(bytes, file.worker);
    } else if (file.worker > 0 && workers.rank() == file.worker) {
      bytes.resize(file.size);
      workers.receive(bytes, 0);
    }
    if (file.worker != detail::SectionFile::shared && file.worker != workers.rank()) continue;
    detail::decode(archive.keep(std::move(bytes)), [&](Piece piece) {
      if (piece.name.starts_with(only)) archive.add(std::move(piece));
    });
  }
  return archive;
}

FLEET_BODY void fail_together(comm::Communicator* communicator, std::string const& fault) {
  detail::CheckpointWorkers workers{communicator, SaveSettings{}.timeout};
  std::vector<std::int32_t> guilty{fault.empty() ? workers.size() : workers.rank()};
  workers.all_reduce_min(guilty);
  if (guilty[0] == workers.size()) return;
  std::string message =
      workers.rank() == guilty[0] && workers.size() > 1 ? text(fault, " (on worker ", guilty[0], ')') : fault;
  workers.broadcast(message, guilty[0]);
  throw CheckpointError(message);
}

}  // namespace fleet
