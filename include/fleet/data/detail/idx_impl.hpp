#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <string_view>

#include <fleet/data/idx.hpp>

namespace fleet::data {
namespace detail {

FLEET_BODY std::uint32_t idx_number(InputFile& file, std::string_view what) {
  std::array<std::byte, 4> bytes{};
  auto const place = file.offset();
  if (file.read(bytes) < bytes.size())
    throw DataError(text("fleet: ", file.path(), " is cut short: expected ", what, " (4 bytes) at byte ", place,
                         ", found the end of the file at byte ", file.offset(), "; fetch it again"));
  std::uint32_t number = 0;
  for (auto byte : bytes) number = number << 8 | std::to_integer<std::uint32_t>(byte);
  return number;
}

FLEET_BODY Shape idx_header(InputFile& file, std::uint8_t code, std::size_t axes, std::size_t element_bytes) {
  auto const magic = idx_number(file, "the magic number");
  auto const found_axes = magic & 0xffu, kind = static_cast<std::uint32_t>(code) << 8;
  if ((magic & ~0xffu) != kind || (axes ? found_axes != axes : found_axes == 0 || found_axes > Shape::max_axes)) {
    auto const expected = axes ? text(kind | axes) : text("from ", kind + 1, " to ", kind + Shape::max_axes);
    throw DataError(text("fleet: ", file.path(), " has a wrong magic number at byte 0: expected ", expected,
                         " (IDX, element type ", unsigned{code}, "), found ", magic,
                         "; is it another file, or one unpacked or packed wrongly?"));
  }
  std::array<std::int64_t, Shape::max_axes> extents{};
  std::uint64_t count = 1;
  auto const most = file.most_bytes() / element_bytes;
  for (std::size_t axis = 0; axis < found_axes; ++axis) {
    auto const extent = idx_number(file, text("the extent of axis ", axis));
    extents[axis] = extent;
    if (extent != 0 && count > most / extent)
      throw DataError(text("fleet: ", file.path(), " cannot hold what its header says: the extents up to ", extent,
                           " at byte ", 4 + 4 * axis, " make more than the ", most, " elements that its size allows"));
    count *= extent;
  }
  return Shape{std::span<std::int64_t const>{extents.data(), found_axes}};
}

FLEET_BODY void idx_elements(InputFile& file, std::span<std::byte> bytes, std::size_t element_bytes) {
  auto const begin = file.offset();
  if (file.read(bytes) < bytes.size())
    throw DataError(text("fleet: ", file.path(), " is cut short: expected ", begin + bytes.size(),
                         " bytes, as its header says, found the end of the file at byte ", file.offset(),
                         "; fetch it again"));
  if (std::byte extra{}; file.read({&extra, 1}) > 0)
    throw DataError(text("fleet: ", file.path(), " is too long: expected its end at byte ", begin + bytes.size(),
                         ", as its header says, found more bytes; is it put together from two files?"));
  if constexpr (std::endian::native == std::endian::little) {
    if (element_bytes > 1)
      for (auto at = bytes.begin(); at != bytes.end(); at += static_cast<std::ptrdiff_t>(element_bytes))
        std::reverse(at, at + static_cast<std::ptrdiff_t>(element_bytes));
  }
}

}  // namespace detail

FLEET_BODY Tensor<std::int64_t> read_idx_labels(std::string const& path, std::int64_t classes) {
  auto const bytes = read_idx<std::uint8_t>(path, 1);
  Tensor<std::int64_t> labels{bytes.shape()};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    labels[i] = bytes[i];
    if (labels[i] >= classes)
      throw DataError(text("fleet: ", path, " has a wrong label at byte ", 8 + i, ": expected 0 to ", classes - 1,
                           ", found ", labels[i], " for sample ", i));
  }
  return labels;
}

}  // namespace fleet::data
