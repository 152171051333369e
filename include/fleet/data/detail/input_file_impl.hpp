#pragma once
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <utility>

#include <fleet/data/input_file.hpp>

namespace fleet::data {

struct InputFile::State {
  std::FILE* file = nullptr;
  std::array<Bytef, 1 << 16> buffer{};
  z_stream stream{};         ///< its next_in and avail_in are the unused part of the buffer, for plain files too
  std::uint64_t stored = 0;  ///< bytes taken from the file
  bool gzip = false;
  bool between = false;  ///< at the end of a gzip member

  std::uint64_t place() const { return stored - stream.avail_in; }
};

FLEET_BODY void InputFile::Close::operator()(State* state) const {
  if (state->file) std::fclose(state->file);
  inflateEnd(&state->stream);
  delete state;
}

namespace detail {

// Makes more of the file available; false at its end.
template <class State>
bool refill(State& state, std::string const& path) {
  if (state.stream.avail_in > 0) return true;
  auto const count = std::fread(state.buffer.data(), 1, state.buffer.size(), state.file);
  if (std::ferror(state.file)) throw DataError(text("fleet: cannot read ", path, ": ", std::strerror(errno)));
  state.stream.next_in = state.buffer.data();
  state.stream.avail_in = static_cast<uInt>(count);
  state.stored += count;
  return count > 0;
}

// Unpacks into all of `bytes` or up to the end; returns how many.
template <class State>
std::size_t unpack(State& state, std::string const& path, std::span<std::byte> bytes) {
  auto& stream = state.stream;
  auto const at = [&] { return text(" at byte ", state.place(), " of the packed file"); };
  std::size_t done = 0;
  while (done < bytes.size()) {
    bool const more = refill(state, path);
    if (state.between) {
      if (!more) break;
      if (*stream.next_in != 0x1f)
        throw DataError(
            text("fleet: ", path, " has bytes after the end of its gzip data,", at(), "; fetch or pack it again"));
      inflateReset(&stream);
      state.between = false;
    }
    if (!more)
      throw DataError(text("fleet: ", path, " is cut short: its gzip data does not end", at(), "; fetch it again"));
    auto const room = std::min<std::size_t>(bytes.size() - done, std::numeric_limits<uInt>::max() / 2);
    stream.next_out = reinterpret_cast<Bytef*>(bytes.data() + done);
    stream.avail_out = static_cast<uInt>(room);
    int const status = inflate(&stream, Z_NO_FLUSH);
    done += room - stream.avail_out;
    if (status == Z_STREAM_END)
      state.between = true;
    else if (status != Z_OK && status != Z_BUF_ERROR)
      throw DataError(text("fleet: ", path, " is damaged: ",
                           stream.msg ? stream.msg : "its gzip data cannot be unpacked", at(), "; fetch it again"));
  }
  return done;
}

}  // namespace detail

FLEET_BODY InputFile::InputFile(std::string path) : path_(std::move(path)), state_(new State) {
  state_->file = std::fopen(path_.c_str(), "rb");
  if (!state_->file) throw DataError(text("fleet: cannot open ", path_, ": ", std::strerror(errno)));
  detail::refill(*state_, path_);
  auto& stream = state_->stream;
  state_->gzip = stream.avail_in >= 2 && stream.next_in[0] == 0x1f && stream.next_in[1] == 0x8b;
  if (!state_->gzip && std::string_view{path_}.ends_with(".gz"))
    throw DataError(text("fleet: ", path_, " is not gzip: expected the bytes 31 139 at byte 0, found ",
                         stream.avail_in < 2 ? std::string{"the end of the file"}
                                             : text(unsigned{stream.next_in[0]}, " ", unsigned{stream.next_in[1]}),
                         "; pack it, or take .gz from its name"));
  constexpr int gzip_only = 16;
  if (state_->gzip && inflateInit2(&stream, MAX_WBITS + gzip_only) != Z_OK)
    throw DataError(text("fleet: cannot unpack ", path_, ": zlib has no memory"));
}

FLEET_BODY std::size_t InputFile::read(std::span<std::byte> bytes) {
  std::size_t done = 0;
  if (state_->gzip) {
    done = detail::unpack(*state_, path_, bytes);
  } else {
    while (done < bytes.size() && detail::refill(*state_, path_)) {
      auto& stream = state_->stream;
      auto const count = std::min<std::size_t>(bytes.size() - done, stream.avail_in);
      std::memcpy(bytes.data() + done, stream.next_in, count);
      stream.next_in += count;
      stream.avail_in -= static_cast<uInt>(count);
      done += count;
    }
  }
  offset_ += done;
  return done;
}

FLEET_BODY std::uint64_t InputFile::most_bytes() const {
  struct stat status {};
  if (fstat(fileno(state_->file), &status) != 0 || !S_ISREG(status.st_mode))
    return std::numeric_limits<std::uint64_t>::max();
  constexpr std::uint64_t best_ratio = 1032;  // of the deflate format
  return static_cast<std::uint64_t>(status.st_size) * (state_->gzip ? best_ratio : 1);
}

}  // namespace fleet::data
