// Element types.
#pragma once

#include <fmt/core.h>

#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "systole/base/error.h"
#include "systole/base/float16.h"

namespace systole {

// Names are StableHLO's in lower case; `tf_name` is TensorFlow's. The values are not stored in
// files.
enum class DType : uint8_t {
  invalid,
  pred,
  s2,
  s4,
  s8,
  s16,
  s32,
  s64,
  u2,
  u4,
  u8,
  u16,
  u32,
  u64,
  f4e2m1fn,  // floats below 16 bits: base/small_float.h
  f8e3m4,
  f8e4m3,
  f8e4m3b11fnuz,
  f8e4m3fn,
  f8e4m3fnuz,
  f8e5m2,
  f8e5m2fnuz,
  f8e8m0fnu,
  f16,
  bf16,
  f32,
  f64,
  c64,       // complex of two f32
  c128,      // complex of two f64
  string,    // host only
  resource,  // a handle to a variable: never has a value of its own
  token,     // orders side effects in HLO; has no value
};

inline constexpr int kNumDTypes = static_cast<int>(DType::token) + 1;

// The properties of a dtype.
struct DTypeInfo {
  std::string_view name;       // "f32"
  std::string_view mlir_name;  // "f32", "i32", "ui8", "i1"
  std::string_view tf_name;    // "float32", "int32", "bool"
  int size;                    // bytes of an element in a host Tensor: at least one
  int bits;                    // bits of information: 1, 2, 4, 8, ...
  bool floating;
  bool integer;  // pred is not
  bool is_signed;
  bool complex;
};

const DTypeInfo& dtype_info(DType dtype);

inline bool is_floating(DType dtype) { return dtype_info(dtype).floating; }
inline bool is_integer(DType dtype) { return dtype_info(dtype).integer; }
inline bool is_complex(DType dtype) { return dtype_info(dtype).complex; }
inline bool is_small_float(DType dtype) {
  return dtype >= DType::f4e2m1fn && dtype <= DType::f8e8m0fnu;
}
inline int size_of(DType dtype) { return dtype_info(dtype).size; }
// Returns whether a device can hold its elements.
inline bool is_numeric(DType dtype) { return dtype > DType::invalid && dtype < DType::string; }
// Returns the dtype of the parts of a complex dtype (c64 -> f32), or any other dtype itself.
DType real_dtype(DType dtype);

std::string_view to_string(DType dtype);
std::optional<DType> dtype_from_mlir(std::string_view name);
// Parses "float32", "float", "tf.float32"... Errors: INVALID_ARGUMENT.
DType dtype_from_tf(std::string_view name);

// An integer below 8 bits, in a byte of its own.
template <int kBits, bool kSigned>
struct NarrowInteger {
  static constexpr int lowest = kSigned ? -(1 << (kBits - 1)) : 0;
  static constexpr int highest = (1 << (kSigned ? kBits - 1 : kBits)) - 1;

  std::conditional_t<kSigned, int8_t, uint8_t> value = 0;

  NarrowInteger() = default;
  // Keeps the low bits.
  NarrowInteger(int v)  // NOLINT(google-explicit-constructor)
      : value(static_cast<decltype(value)>(
            kSigned ? static_cast<int8_t>(static_cast<uint32_t>(v) << (8 - kBits)) >> (8 - kBits)
                    : v & highest)) {}
  operator int() const { return value; }  // NOLINT(google-explicit-constructor)
};
using int2 = NarrowInteger<2, true>;
using int4 = NarrowInteger<4, true>;
using uint2 = NarrowInteger<2, false>;
using uint4 = NarrowInteger<4, false>;

template <class T>
inline constexpr bool is_narrow_integer = false;
template <int kBits, bool kSigned>
inline constexpr bool is_narrow_integer<NarrowInteger<kBits, kSigned>> = true;
// Whether an integer type of any width has a sign.
template <class T>
inline constexpr bool is_signed_integer = std::is_integral_v<T>&& std::is_signed_v<T>;
template <int kBits>
inline constexpr bool is_signed_integer<NarrowInteger<kBits, true>> = true;

// Maps a C++ element type to its dtype: dtype_of<float>() == DType::f32. bool is pred. Floats below
// 16 bits have no element type.
template <class T>
constexpr DType dtype_of() = delete;
template <>
constexpr DType dtype_of<bool>() {
  return DType::pred;
}
template <>
constexpr DType dtype_of<int2>() {
  return DType::s2;
}
template <>
constexpr DType dtype_of<int4>() {
  return DType::s4;
}
template <>
constexpr DType dtype_of<int8_t>() {
  return DType::s8;
}
template <>
constexpr DType dtype_of<int16_t>() {
  return DType::s16;
}
template <>
constexpr DType dtype_of<int32_t>() {
  return DType::s32;
}
template <>
constexpr DType dtype_of<int64_t>() {
  return DType::s64;
}
template <>
constexpr DType dtype_of<uint2>() {
  return DType::u2;
}
template <>
constexpr DType dtype_of<uint4>() {
  return DType::u4;
}
template <>
constexpr DType dtype_of<uint8_t>() {
  return DType::u8;
}
template <>
constexpr DType dtype_of<uint16_t>() {
  return DType::u16;
}
template <>
constexpr DType dtype_of<uint32_t>() {
  return DType::u32;
}
template <>
constexpr DType dtype_of<uint64_t>() {
  return DType::u64;
}
template <>
constexpr DType dtype_of<float16>() {
  return DType::f16;
}
template <>
constexpr DType dtype_of<bfloat16>() {
  return DType::bf16;
}
template <>
constexpr DType dtype_of<float>() {
  return DType::f32;
}
template <>
constexpr DType dtype_of<double>() {
  return DType::f64;
}
template <>
constexpr DType dtype_of<std::complex<float>>() {
  return DType::c64;
}
template <>
constexpr DType dtype_of<std::complex<double>>() {
  return DType::c128;
}
template <>
constexpr DType dtype_of<std::string>() {
  return DType::string;
}

// Calls f.template operator()<T>() with the element type of a numeric dtype:
//   visit_dtype(t.dtype(), [&]<class T>() { ... t.data<T>() ... });
// Errors: INTERNAL for string, resource, token and floats below 16 bits: ops on those run on f32 or
// on their codes.
template <class F>
decltype(auto) visit_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::pred:
      return f.template operator()<bool>();
    case DType::s2:
      return f.template operator()<int2>();
    case DType::s4:
      return f.template operator()<int4>();
    case DType::s8:
      return f.template operator()<int8_t>();
    case DType::s16:
      return f.template operator()<int16_t>();
    case DType::s32:
      return f.template operator()<int32_t>();
    case DType::s64:
      return f.template operator()<int64_t>();
    case DType::u2:
      return f.template operator()<uint2>();
    case DType::u4:
      return f.template operator()<uint4>();
    case DType::u8:
      return f.template operator()<uint8_t>();
    case DType::u16:
      return f.template operator()<uint16_t>();
    case DType::u32:
      return f.template operator()<uint32_t>();
    case DType::u64:
      return f.template operator()<uint64_t>();
    case DType::f16:
      return f.template operator()<float16>();
    case DType::bf16:
      return f.template operator()<bfloat16>();
    case DType::f32:
      return f.template operator()<float>();
    case DType::f64:
      return f.template operator()<double>();
    case DType::c64:
      return f.template operator()<std::complex<float>>();
    case DType::c128:
      return f.template operator()<std::complex<double>>();
    default:
      throw internal_error("visit_dtype: no element type for '{}'", to_string(dtype));
  }
}

}  // namespace systole

// Takes the format specification of a string.
template <>
struct fmt::formatter<systole::DType> : fmt::formatter<fmt::string_view> {
  fmt::format_context::iterator format(systole::DType dtype, fmt::format_context& context) const;
};
