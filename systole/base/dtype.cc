#include "systole/base/dtype.h"

#include <fmt/format.h>

#include <array>

namespace systole {
namespace {

constexpr std::array<DTypeInfo, kNumDTypes> kInfo = {{
    // name, mlir, tf, size, bits, floating, integer, signed, complex
    {"invalid", "none", "invalid", 0, 0, false, false, false, false},
    {"pred", "i1", "bool", 1, 1, false, false, false, false},
    {"s2", "i2", "int2", 1, 2, false, true, true, false},
    {"s4", "i4", "int4", 1, 4, false, true, true, false},
    {"s8", "i8", "int8", 1, 8, false, true, true, false},
    {"s16", "i16", "int16", 2, 16, false, true, true, false},
    {"s32", "i32", "int32", 4, 32, false, true, true, false},
    {"s64", "i64", "int64", 8, 64, false, true, true, false},
    {"u2", "ui2", "uint2", 1, 2, false, true, false, false},
    {"u4", "ui4", "uint4", 1, 4, false, true, false, false},
    {"u8", "ui8", "uint8", 1, 8, false, true, false, false},
    {"u16", "ui16", "uint16", 2, 16, false, true, false, false},
    {"u32", "ui32", "uint32", 4, 32, false, true, false, false},
    {"u64", "ui64", "uint64", 8, 64, false, true, false, false},
    {"f4e2m1fn", "f4E2M1FN", "float4_e2m1fn", 1, 4, true, false, true, false},
    {"f8e3m4", "f8E3M4", "float8_e3m4", 1, 8, true, false, true, false},
    {"f8e4m3", "f8E4M3", "float8_e4m3", 1, 8, true, false, true, false},
    {"f8e4m3b11fnuz", "f8E4M3B11FNUZ", "float8_e4m3b11fnuz", 1, 8, true, false, true, false},
    {"f8e4m3fn", "f8E4M3FN", "float8_e4m3fn", 1, 8, true, false, true, false},
    {"f8e4m3fnuz", "f8E4M3FNUZ", "float8_e4m3fnuz", 1, 8, true, false, true, false},
    {"f8e5m2", "f8E5M2", "float8_e5m2", 1, 8, true, false, true, false},
    {"f8e5m2fnuz", "f8E5M2FNUZ", "float8_e5m2fnuz", 1, 8, true, false, true, false},
    {"f8e8m0fnu", "f8E8M0FNU", "float8_e8m0fnu", 1, 8, true, false, false, false},
    {"f16", "f16", "float16", 2, 16, true, false, true, false},
    {"bf16", "bf16", "bfloat16", 2, 16, true, false, true, false},
    {"f32", "f32", "float32", 4, 32, true, false, true, false},
    {"f64", "f64", "float64", 8, 64, true, false, true, false},
    {"c64", "complex<f32>", "complex64", 8, 64, false, false, true, true},
    {"c128", "complex<f64>", "complex128", 16, 128, false, false, true, true},
    {"string", "string", "string", sizeof(std::string), 0, false, false, false, false},
    {"resource", "resource", "resource", 0, 0, false, false, false, false},
    {"token", "token", "token", 0, 0, false, false, false, false},
}};

}  // namespace

const DTypeInfo& dtype_info(DType dtype) { return kInfo.at(static_cast<size_t>(dtype)); }

DType real_dtype(DType dtype) {
  if (dtype == DType::c64) return DType::f32;
  if (dtype == DType::c128) return DType::f64;
  return dtype;
}

std::string_view to_string(DType dtype) { return dtype_info(dtype).name; }

std::optional<DType> dtype_from_mlir(std::string_view name) {
  for (int i = 1; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (is_numeric(dtype) && dtype_info(dtype).mlir_name == name) return dtype;
  }
  return std::nullopt;
}

DType dtype_from_tf(std::string_view name) {
  std::string_view bare = name;
  if (bare.starts_with("tf.")) bare.remove_prefix(3);
  if (bare == "float") return DType::f32;
  if (bare == "double") return DType::f64;
  if (bare == "half") return DType::f16;
  for (int i = 1; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtype_info(dtype).tf_name == bare) return dtype;
  }
  throw invalid_argument("dtype: unknown name, got '{}', expected one such as float32, int64, bool",
                         name);
}

}  // namespace systole

// Defined here because dtype.h includes only fmt/core.h, which does not define the base class's
// format().
fmt::format_context::iterator fmt::formatter<systole::DType>::format(
    systole::DType dtype, fmt::format_context& context) const {
  return fmt::formatter<fmt::string_view>::format(systole::to_string(dtype), context);
}
