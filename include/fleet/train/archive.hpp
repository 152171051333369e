#pragma once
#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fleet/core/dtype.hpp>
#include <fleet/core/error.hpp>
#include <fleet/tensor/shape.hpp>

namespace fleet {

/// What a checkpoint says of itself.
struct CheckpointInfo {
  std::int64_t step = 0;  ///< updates applied when it was made
  std::int64_t epoch = 0;
  std::string model{};  ///< describes what was saved, a line a part; a load may demand the same
  int workers = 1;      ///< how many saved it; save_checkpoint fills it in
};

/// One named thing in an archive. The numbers of Form are part of the file format.
struct Piece {
  enum class Form : std::uint8_t { tensor, list, text, value };

  std::string name{};
  Form form = Form::value;
  DType dtype = DType::uint8;
  Shape shape{};  ///< of a list or a text, its length; of a value, no axis
  std::span<std::byte const> bytes{};

  /// "784x128 float32", "list of 3 uint64", "text", "int64"
  std::string kind() const {
    if (form == Form::text) return "text";
    std::string out = form == Form::list ? "list of " : "";
    for (std::size_t axis = 0; axis < shape.axes(); ++axis) out += text_of(axis, shape[axis]);
    return out + (shape.axes() ? " " : "") + std::string{fleet::name(dtype)};
  }

 private:
  static std::string text_of(std::size_t axis, std::int64_t extent) { return text(axis ? "x" : "", extent); }
};

/// A number, a truth value or an enumerator: what an archive keeps as one value of 64 bits or fewer.
template <class T>
concept ArchiveValue = (std::is_arithmetic_v<T> || std::is_enum_v<T>)&&!std::same_as<T, long double> &&
                       !std::is_const_v<T>;

/// The one calling convention of both archives. A stateful thing lists its state in
/// `template <class Archive> void archive(Archive& archive) { archive("step", step_); archive("velocity", span); }`,
/// which saves with a SaveArchive and loads with a LoadArchive; `Archive::loading` tells which. It asks for the same
/// names whatever its state is. Spans and tensors keep their size, lists and texts take the saved one.
template <class Derived>
class ArchiveCalls {
 public:
  /// Ends its part of the names when it goes.
  class [[nodiscard]] Scope {
   public:
    Scope(Scope const&) = delete;
    Scope& operator=(Scope const&) = delete;
    ~Scope() { prefix_.resize(length_); }

   private:
    friend ArchiveCalls;
    explicit Scope(std::string& prefix, std::string_view name) : prefix_(prefix), length_(prefix.size()) {
      prefix_.append(name).append("/");
    }
    std::string& prefix_;
    std::size_t length_;
  };

  /// Until the guard goes, every name is below this one: "optimizer/velocity".
  Scope scope(std::string_view name) { return Scope{prefix_, name}; }
  /// The state of `object`, below this name.
  template <class Object>
  void nested(std::string_view name, Object& object) {
    auto const guard = scope(name);
    object.archive(self());
  }

  template <Element T, std::size_t extent>
  void operator()(std::string_view name, std::span<T, extent> data) {
    (*this)(name, data, Shape{static_cast<std::int64_t>(data.size())});
  }
  /// As a span, and a load demands the same shape.
  template <Element T, std::size_t extent>
  void operator()(std::string_view name, std::span<T, extent> data, Shape const& shape) {
    if (shape.count() != data.size())
      throw ContractError(text("fleet: ", name, " of shape ", shape.text(), " has ", data.size(), " elements"));
    Piece piece = named(name, Piece::Form::tensor, dtype_of<T>, shape);
    if constexpr (Derived::loading) {
      auto const bytes = self().take(piece);
      if (self().copies_) copy(bytes, std::as_writable_bytes(data));
    } else {
      self().put(std::move(piece), std::as_bytes(data));
    }
  }
  template <Element T, class Allocator>
  void operator()(std::string_view name, std::vector<T, Allocator>& list) {
    sequence<T>(named(name, Piece::Form::list, dtype_of<T>, length(list.size())), list);
  }
  void operator()(std::string_view name, std::string& characters) {
    sequence<char>(named(name, Piece::Form::text, DType::uint8, length(characters.size())), characters);
  }
  template <ArchiveValue T>
  void operator()(std::string_view name, T& value) {
    using Kept = typename Keep<T>::type;
    Piece piece = named(name, Piece::Form::value, dtype_of<Kept>, {});
    auto kept = static_cast<Kept>(value);
    if constexpr (Derived::loading) {
      copy(self().take(piece), std::as_writable_bytes(std::span{&kept, 1}));
      if (std::is_integral_v<T> && static_cast<Kept>(static_cast<T>(kept)) != kept)
        throw CheckpointError(text("fleet: the saved ", piece.name, ", ", kept, ", does not fit its type here"));
      if (self().copies_) value = static_cast<T>(kept);
    } else {
      self().put_copy(std::move(piece), std::as_bytes(std::span{&kept, 1}));
    }
  }

 protected:
  ArchiveCalls() = default;

 private:
  template <class T>
  struct Keep : std::conditional<std::is_floating_point_v<T>, T,
                                 std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>> {};
  template <class T>
  requires std::is_enum_v<T>
  struct Keep<T> : Keep<std::underlying_type_t<T>> {
  };
  template <std::same_as<bool> T>
  struct Keep<T> : std::type_identity<std::uint8_t> {};

  Derived& self() { return static_cast<Derived&>(*this); }
  static Shape length(std::size_t size) { return {static_cast<std::int64_t>(size)}; }
  static void copy(std::span<std::byte const> from, std::span<std::byte> to) {
    if (!to.empty()) std::memcpy(to.data(), from.data(), to.size());
  }
  Piece named(std::string_view name, Piece::Form form, DType dtype, Shape const& shape) const {
    return {prefix_ + std::string{name}, form, dtype, shape, {}};
  }
  template <class T, class List>
  void sequence(Piece piece, List& list) {
    if constexpr (Derived::loading) {
      auto const bytes = self().take(piece);
      if (!self().copies_) return;
      list.resize(bytes.size() / sizeof(T));
      copy(bytes, std::as_writable_bytes(std::span{list}));
    } else {
      self().put_copy(std::move(piece), std::as_bytes(std::span{list}));
    }
  }

  std::string prefix_;
};

/// Collects what is to be saved. Lists, texts and values are copied; a span is only pointed at, so what it views
/// stays alive and unchanged until save_checkpoint returns. A name given twice is a ContractError.
class SaveArchive : public ArchiveCalls<SaveArchive> {
 public:
  static constexpr bool loading = false;

  /// In the order in which they were given.
  std::span<Piece const> pieces() const { return pieces_; }

 private:
  friend ArchiveCalls<SaveArchive>;

  void put(Piece piece, std::span<std::byte const> bytes) {
    if (!names_.emplace(piece.name, pieces_.size()).second)
      throw ContractError(text("fleet: two things to save have the name ", piece.name, "; names must differ"));
    piece.bytes = bytes;
    pieces_.push_back(std::move(piece));
  }
  void put_copy(Piece piece, std::span<std::byte const> bytes) {
    put(std::move(piece), copies_.emplace_back(bytes.begin(), bytes.end()));
  }

  std::vector<Piece> pieces_;
  std::map<std::string, std::size_t, std::less<>> names_;
  std::deque<std::vector<std::byte>> copies_;
};

/// Holds what was saved and gives it back. Throws CheckpointError that names the piece if it is missing or was saved
/// with another type or size.
class LoadArchive : public ArchiveCalls<LoadArchive> {
 public:
  static constexpr bool loading = true;

  /// `source` is how errors call it: "checkpoint /here (step 10)".
  LoadArchive(CheckpointInfo info, std::string source) : info_(std::move(info)), source_(std::move(source)) {}
  /// What was collected, without a file between; for states that are copied within a process.
  explicit LoadArchive(SaveArchive const& saved) : LoadArchive({}, "the archive in memory") {
    for (Piece piece : saved.pieces()) {
      piece.bytes = keep({piece.bytes.begin(), piece.bytes.end()});
      add(std::move(piece));
    }
  }
  LoadArchive(LoadArchive&&) = default;
  LoadArchive& operator=(LoadArchive&&) = default;

  CheckpointInfo const& info() const { return info_; }
  std::string const& source() const { return source_; }

  /// Takes memory over; pieces added later may view it.
  std::span<std::byte const> keep(std::vector<std::byte> memory) { return memory_.emplace_back(std::move(memory)); }
  void add(Piece piece) {
    std::string name = piece.name;
    if (!pieces_.emplace(std::move(name), Entry{std::move(piece), false}).second)
      throw CheckpointError(text("fleet: ", source_, " holds a piece twice; it is damaged"));
  }

  /// Names of the pieces that nobody has asked for so far.
  std::vector<std::string> unused() const {
    std::vector<std::string> out;
    for (auto const& [name, entry] : pieces_)
      if (!entry.used) out.push_back(name);
    return out;
  }
  /// Throws CheckpointError if a piece was never asked for: what was saved has more parts than what is loaded.
  void finish() const {
    if (auto const left = unused(); !left.empty())
      throw CheckpointError(text("fleet: ", source_, " is of another model: this one has no place for ", left.front(),
                                 left.size() > 1 ? text(" and ", left.size() - 1, " more pieces") : "", advice));
  }
  /// Throws as loading `object` and finish() would, and leaves the object as it is.
  template <class Object>
  void check(Object& object) {
    struct Guard {
      bool& copies;
      ~Guard() { copies = true; }
    } const guard{copies_ = false};
    object.archive(*this);
    finish();
  }

 private:
  friend ArchiveCalls<LoadArchive>;
  struct Entry {
    Piece piece;
    bool used;
  };
  static constexpr std::string_view advice =
      ". Build model, optimizer and strategy as they were when it was saved, or load the parameters alone";

  std::span<std::byte const> take(Piece const& wanted) {
    auto const at = pieces_.find(wanted.name);
    if (at == pieces_.end())
      throw CheckpointError(text("fleet: ", source_, " is of another model: it has no ", wanted.name, " (",
                                 wanted.kind(), " in this one)", advice));
    Piece const& saved = at->second.piece;
    bool const sized = wanted.form == Piece::Form::tensor;
    if (saved.form != wanted.form || saved.dtype != wanted.dtype || (sized && !(saved.shape == wanted.shape)))
      throw CheckpointError(text("fleet: ", source_, " is of another model: ", wanted.name, " was saved as ",
                                 saved.kind(), ", and this model has ", wanted.kind(), advice));
    at->second.used = true;
    return saved.bytes;
  }

  CheckpointInfo info_;
  std::string source_;
  std::vector<std::vector<std::byte>> memory_;
  std::map<std::string, Entry, std::less<>> pieces_;
  bool copies_ = true;
};

}  // namespace fleet
