#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <fleet/core/config.hpp>
#include <fleet/data/input_file.hpp>
#include <fleet/tensor/tensor.hpp>

namespace fleet::data {
namespace detail {

/// The third byte of an IDX file: what its elements are.
template <class T>
inline constexpr std::uint8_t idx_code = 0;
template <>
inline constexpr std::uint8_t idx_code<std::uint8_t> = 0x08;
template <>
inline constexpr std::uint8_t idx_code<std::int8_t> = 0x09;
template <>
inline constexpr std::uint8_t idx_code<std::int16_t> = 0x0b;
template <>
inline constexpr std::uint8_t idx_code<std::int32_t> = 0x0c;
template <>
inline constexpr std::uint8_t idx_code<float> = 0x0d;
template <>
inline constexpr std::uint8_t idx_code<double> = 0x0e;

/// Reads the header. `axes` 0: any number.
FLEET_BODY Shape idx_header(InputFile& file, std::uint8_t code, std::size_t axes, std::size_t element_bytes);
/// Reads the elements, which must fill the rest of the file, and puts their bytes into the machine's order.
FLEET_BODY void idx_elements(InputFile& file, std::span<std::byte> bytes, std::size_t element_bytes);

}  // namespace detail

/// The element types that an IDX file may have.
template <class T>
concept IdxElement = (detail::idx_code<T> != 0);

/// Reads an IDX file, plain or gzip, of elements of type T, with any number of axes or with exactly `axes`. Throws
/// DataError, with the file, the place, what was expected and what was found, for a wrong magic number, a file that
/// is shorter or longer than its header says, and what InputFile throws.
template <IdxElement T>
Tensor<T> read_idx(std::string const& path, std::size_t axes = 0) {
  InputFile file{path};
  Tensor<T> array{detail::idx_header(file, detail::idx_code<T>, axes, sizeof(T))};
  detail::idx_elements(file, std::as_writable_bytes(array.span()), sizeof(T));
  return array;
}

/// Grey images [n, height, width]: magic number 2051.
inline Tensor<std::uint8_t> read_idx_images(std::string const& path) { return read_idx<std::uint8_t>(path, 3); }

/// Labels [n]: magic number 2049. Throws DataError also for a label that is not below `classes`.
FLEET_BODY Tensor<std::int64_t> read_idx_labels(std::string const& path, std::int64_t classes = 10);

}  // namespace fleet::data

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/data/detail/idx_impl.hpp>  // IWYU pragma: export
#endif
