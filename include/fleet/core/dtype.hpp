#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <fleet/core/half.hpp>

namespace fleet {

/// The element types that tensors and messages may have. The values are part of the wire format.
enum class DType : std::uint8_t { float32, float64, float16, bfloat16, int32, int64, uint8, uint64 };

constexpr std::string_view name(DType dtype) {
  constexpr std::string_view names[] = {"float32", "float64", "float16", "bfloat16",
                                        "int32",   "int64",   "uint8",   "uint64"};
  return names[static_cast<std::size_t>(dtype)];
}

constexpr std::size_t size_of(DType dtype) {
  constexpr std::size_t sizes[] = {4, 8, 2, 2, 4, 8, 1, 8};
  return sizes[static_cast<std::size_t>(dtype)];
}

template <class T>
struct dtype_of_t;
template <>
struct dtype_of_t<float> {
  static constexpr DType value = DType::float32;
};
template <>
struct dtype_of_t<double> {
  static constexpr DType value = DType::float64;
};
template <>
struct dtype_of_t<float16> {
  static constexpr DType value = DType::float16;
};
template <>
struct dtype_of_t<bfloat16> {
  static constexpr DType value = DType::bfloat16;
};
template <>
struct dtype_of_t<std::int32_t> {
  static constexpr DType value = DType::int32;
};
template <>
struct dtype_of_t<std::int64_t> {
  static constexpr DType value = DType::int64;
};
template <>
struct dtype_of_t<std::uint8_t> {
  static constexpr DType value = DType::uint8;
};
template <>
struct dtype_of_t<std::uint64_t> {
  static constexpr DType value = DType::uint64;
};

template <class T>
inline constexpr DType dtype_of = dtype_of_t<T>::value;

/// The types that `dtype_of` knows.
template <class T>
concept Element = requires {
  dtype_of_t<T>::value;
};

/// Calls `function` with a value of the C++ type that `dtype` stands for.
template <class Function>
constexpr decltype(auto) with_type(DType dtype, Function&& function) {
  switch (dtype) {
    case DType::float32:
      return function(float{});
    case DType::float64:
      return function(double{});
    case DType::float16:
      return function(float16{});
    case DType::bfloat16:
      return function(bfloat16{});
    case DType::int32:
      return function(std::int32_t{});
    case DType::int64:
      return function(std::int64_t{});
    case DType::uint8:
      return function(std::uint8_t{});
    case DType::uint64:
      break;
  }
  return function(std::uint64_t{});
}

}  // namespace fleet
