#pragma once
#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fleet/core/error.hpp>
#include <fleet/train/archive.hpp>

// The files of a set. Numbers are little-endian. A section file is a FileHeader, the number of its pieces (64 bits) and
// the pieces; a piece is a PieceHeader, its name, its extents (64 bits each) and its bytes. The manifest is text, a
// keyword and a value a line; its last line is the checksum of all lines before.
namespace fleet::detail {

static_assert(std::endian::native == std::endian::little,
              "fleet: checkpoints are written on little-endian machines only");

inline constexpr std::uint32_t checkpoint_version = 1;
inline constexpr std::string_view manifest_name = "manifest.txt";

inline std::uint32_t checksum(std::uint32_t before, std::span<std::byte const> bytes) {
  if (bytes.empty()) return before;  // zlib takes a null pointer for a new start
  return static_cast<std::uint32_t>(crc32_z(before, reinterpret_cast<Bytef const*>(bytes.data()), bytes.size()));
}

template <class T>
std::span<std::byte const> bytes_of(T const& value) {
  return std::as_bytes(std::span{&value, 1});
}

struct FileHeader {
  std::array<char, 8> magic{'f', 'l', 'e', 'e', 't', 'c', 'k', 'p'};
  std::uint32_t version = checkpoint_version;
  std::uint32_t check = 0;  ///< of the header, with this field 0
  std::uint64_t set = 0;
  std::int64_t step = 0;

  FileHeader sealed() const {
    FileHeader out = *this;
    out.check = 0;
    out.check = checksum(0, bytes_of(out));
    return out;
  }
};

struct PieceHeader {
  std::uint32_t name_length = 0;
  Piece::Form form{};
  DType dtype{};
  std::uint8_t axes = 0;
  std::uint8_t reserved = 0;
  std::uint64_t size = 0;  ///< bytes
};
static_assert(sizeof(FileHeader) == 32 && sizeof(PieceHeader) == 16);

/// Hands the encoded pieces to `write(bytes)`, part by part.
template <class Write>
void encode(std::span<Piece const* const> pieces, Write write) {
  write(bytes_of(std::uint64_t{pieces.size()}));
  for (Piece const* piece : pieces) {
    PieceHeader const header{.name_length = static_cast<std::uint32_t>(piece->name.size()),
                             .form = piece->form,
                             .dtype = piece->dtype,
                             .axes = static_cast<std::uint8_t>(piece->shape.axes()),
                             .size = piece->bytes.size()};
    write(bytes_of(header));
    write(std::as_bytes(std::span{piece->name}));
    write(std::as_bytes(std::span{piece->shape.begin(), piece->shape.axes()}));
    write(piece->bytes);
  }
}

/// Takes numbers and bytes off the front, never more than there are.
class Cursor {
 public:
  explicit Cursor(std::span<std::byte const> bytes) : rest_(bytes) {}

  std::span<std::byte const> bytes(std::uint64_t size) {
    if (size > rest_.size()) throw CheckpointError("a piece ends beyond the end of the file");
    auto const out = rest_.first(size);
    rest_ = rest_.subspan(size);
    return out;
  }
  template <class T>
  T value() {
    T out;
    std::memcpy(&out, bytes(sizeof out).data(), sizeof out);
    return out;
  }
  bool at_end() const { return rest_.empty(); }

 private:
  std::span<std::byte const> rest_;
};

/// Calls `use(Piece)` for every piece of a section file; the pieces view `file`. Throws CheckpointError that says what
/// is wrong, without naming the file.
template <class Use>
void decode(std::span<std::byte const> file, Use use) {
  Cursor cursor{file};
  (void)cursor.value<FileHeader>();
  for (auto left = cursor.value<std::uint64_t>(); left > 0; --left) {
    auto const header = cursor.value<PieceHeader>();
    if (header.form > Piece::Form::value || header.dtype > DType::uint64 || header.axes > Shape::max_axes)
      throw CheckpointError("it holds a piece of an unknown kind");
    Piece piece{.form = header.form, .dtype = header.dtype};
    auto const name = cursor.bytes(header.name_length);
    piece.name.assign(reinterpret_cast<char const*>(name.data()), name.size());
    std::vector<std::int64_t> extents;
    std::uint64_t size = size_of(piece.dtype);
    for (int axis = 0; axis < header.axes; ++axis) {
      auto const extent = extents.emplace_back(cursor.value<std::int64_t>());
      if (extent < 0 || (extent > 0 && size > file.size() / static_cast<std::uint64_t>(extent)))
        throw CheckpointError(text("the shape of ", piece.name, " does not fit into the file"));
      size *= static_cast<std::uint64_t>(extent);
    }
    if (size != header.size) throw CheckpointError(text("the size of ", piece.name, " does not fit its shape"));
    piece.shape = Shape{std::span<std::int64_t const>{extents}};
    piece.bytes = cursor.bytes(header.size);
    use(std::move(piece));
  }
  if (!cursor.at_end()) throw CheckpointError("there are bytes after the last piece");
}

/// The first part of a piece's name; what has none belongs to "main".
inline std::string section_of(std::string_view name) {
  auto const end = name.find('/');
  return std::string{end == std::string_view::npos ? "main" : name.substr(0, end)};
}

inline bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '%';
}

/// One section of all workers, or of one.
struct SectionFile {
  static constexpr int shared = -1;

  std::string name{};  ///< "data.bin", "data.2.bin"
  int worker = shared;
  std::uint64_t size = 0;
  std::uint32_t check = 0;

  static std::string name_of(std::string_view section, int worker) {
    std::string out;
    for (char const c : section) {
      constexpr char digits[] = "0123456789abcdef";
      auto const code = static_cast<unsigned char>(c);
      is_plain(c) && c != '%' ? void(out += c) : void(((out += '%') += digits[code >> 4]) += digits[code & 15]);
    }
    return worker == shared ? out + ".bin" : text(out, '.', worker, ".bin");
  }
  std::string_view section() const { return std::string_view{name}.substr(0, name.find('.')); }
};

struct Manifest {
  std::uint64_t set = 0;
  CheckpointInfo info;
  std::vector<SectionFile> files;
};

template <class Number>
std::string hexadecimal(Number number) {
  std::string out(2 * sizeof number, '0');
  for (auto digit = out.rbegin(); digit != out.rend(); ++digit, number >>= 4) *digit = "0123456789abcdef"[number & 15];
  return out;
}

inline std::string to_text(Manifest const& manifest) {
  std::string out =
      text("fleet-checkpoint ", checkpoint_version, "\nset ", hexadecimal(manifest.set), "\nstep ", manifest.info.step,
           "\nepoch ", manifest.info.epoch, "\nworkers ", manifest.info.workers, '\n');
  for (std::size_t begin = 0; begin < manifest.info.model.size();) {
    auto const end = std::min(manifest.info.model.find('\n', begin), manifest.info.model.size());
    out += text("model ", std::string_view{manifest.info.model}.substr(begin, end - begin), '\n');
    begin = end + 1;
  }
  for (auto const& file : manifest.files)
    out += text("file ", file.size, ' ', hexadecimal(file.check), ' ', file.name, '\n');
  return out + text("checksum ", hexadecimal(checksum(0, std::as_bytes(std::span{out}))), '\n');
}

/// Reads a line word by word.
class ManifestWords {
 public:
  explicit ManifestWords(std::string_view line) : rest_(line) {}

  std::string_view rest() const { return rest_; }
  std::string_view next() {
    auto const word = rest_.substr(0, rest_.find(' '));
    rest_.remove_prefix(std::min(word.size() + 1, rest_.size()));
    return word;
  }
  template <class Number>
  void next(Number& number, int base = 10) {
    auto const word = next();
    auto const [end, fault] = std::from_chars(word.data(), word.data() + word.size(), number, base);
    if (fault != std::errc{} || end != word.data() + word.size())
      throw CheckpointError(text("it has \"", word, "\" in place of a number"));
  }

 private:
  std::string_view rest_;
};

inline SectionFile section_file(ManifestWords words) {
  SectionFile file;
  words.next(file.size);
  words.next(file.check, 16);
  file.name = words.next();
  auto const dot = file.name.find('.'), end = file.name.rfind('.');
  if (dot == 0 || end == std::string::npos || file.name.substr(end) != ".bin" ||
      !std::all_of(file.name.begin(), file.name.end(), [](char c) { return is_plain(c) || c == '.'; }))
    throw CheckpointError(text("it lists a file with the name \"", file.name, '"'));
  if (dot != end) ManifestWords{std::string_view{file.name}.substr(dot + 1, end - dot - 1)}.next(file.worker);
  return file;
}

/// Throws CheckpointError that says what is wrong, without naming the file.
inline Manifest manifest_from(std::string_view all) {
  std::size_t const last = std::string_view{"checksum 01234567\n"}.size();
  auto const sealed = all.substr(0, all.size() - std::min(last, all.size()));
  if (all.substr(sealed.size()) != text("checksum ", hexadecimal(checksum(0, std::as_bytes(std::span{sealed}))), '\n'))
    throw CheckpointError("its checksum differs, so it was cut short or changed");
  if (auto const begin = sealed.substr(0, sealed.find('\n')); begin != text("fleet-checkpoint ", checkpoint_version))
    throw CheckpointError(
        text("it is a \"", begin, "\", and this program reads version ", checkpoint_version, " only"));

  Manifest manifest;
  for (std::string_view rest = sealed; !rest.empty();) {
    auto const line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    ManifestWords words{line};
    auto const key = words.next();
    if (key == "set") words.next(manifest.set, 16);
    if (key == "step") words.next(manifest.info.step);
    if (key == "epoch") words.next(manifest.info.epoch);
    if (key == "workers") words.next(manifest.info.workers);
    if (key == "model") manifest.info.model += text(manifest.info.model.empty() ? "" : "\n", words.rest());
    if (key == "file") manifest.files.push_back(section_file(words));
  }
  for (auto const& file : manifest.files)
    if (file.worker >= manifest.info.workers)
      throw CheckpointError(text("it lists ", file.name, " of a set of ", manifest.info.workers, " workers"));
  return manifest;
}

}  // namespace fleet::detail
