// MLIR bytecode and its VHLO attributes: the numbers in the files. Sources:
// mlir/docs/BytecodeFormat.md of LLVM; stablehlo/dialect/VhloBytecode.cpp of StableHLO 1.20.
//
//   file        = "ML\xefR" version:varint producer:cstring section*
//   section     = id:byte length:varint [alignment:varint 0xCB*] byte[length]     alignment only if
//   id has bit 7 varint      = the value in 7, 14, ... 56 or 64 bits; as many zero bits as bytes
//   follow, then a one, come first svarint     = varint of (value << 1) ^ (value >> 63) flagged =
//   varint of (value << 1) | flag
//
//   strings     = n:varint length:varint[n] (the last string first, with their final zeros) byte*
//   dialects    = n:varint dialect[n] [op names:varint]                           the number since
//   version 4
//                 {dialect:varint n:varint name[n]}*
//   dialect     = name:flagged [section 7]                       name:varint before version 1
//   name        = flagged                                        flag: registered op; name:varint
//   before version 5 attr_types  = the encodings of all attributes, then of all types offsets     =
//   attributes:varint types:varint {dialect:varint n:varint size:flagged[n]}*
//                 flag: the dialect's own encoding, which begins with a code; else MLIR text and a
//                 zero
//   ir          = block
//   block       = ops:flagged [n:varint argument[n] [uses:byte use_lists]] op*    uses since
//   version 3 argument    = type:flagged [location:varint]                 type:varint
//   location:varint before version 4 op          = name:varint mask:byte location:varint
//   [attributes:varint] [properties:varint]
//                 [n:varint type:varint[n]] [n:varint value:varint[n]] [n:varint block:varint[n]]
//                 [use_lists] [regions:flagged region*]                      flag: isolated; since
//                 version 2 in a section of id 4
//   region      = blocks:varint [values:varint block*]
//   properties  = n:varint {size:varint byte[size]}[n]           those of a VHLO op:
//   attribute:varint of each, by name resources   = not read; portable artifacts have none
#pragma once

#include <cstdint>
#include <string_view>

namespace systole::hlo::bytecode {

inline constexpr std::string_view kMagic = "ML\xefR";
inline constexpr uint64_t kMaxFormat = 6;  // the latest version of the container

// The version of the container that began something.
inline constexpr uint64_t kDialectVersions = 1;
inline constexpr uint64_t kIsolatedSections = 2;
inline constexpr uint64_t kUseListOrders = 3;
inline constexpr uint64_t kArgumentLocationFlag = 4;
inline constexpr uint64_t kProperties = 5;

inline constexpr uint8_t kPaddingByte = 0xCB;
inline constexpr uint8_t kAlignedSection = 0x80;

enum class Section : uint8_t {
  strings,
  dialects,
  attr_types,
  attr_type_offsets,
  ir,
  resources,
  resource_offsets,
  dialect_versions,
  properties,
};
inline constexpr int kNumSections = 9;

// The bits of an op's mask.
inline constexpr uint8_t kHasAttributes = 1U << 0;
inline constexpr uint8_t kHasResults = 1U << 1;
inline constexpr uint8_t kHasOperands = 1U << 2;
inline constexpr uint8_t kHasSuccessors = 1U << 3;
inline constexpr uint8_t kHasRegions = 1U << 4;
inline constexpr uint8_t kHasUseLists = 1U << 5;
inline constexpr uint8_t kHasProperties = 1U << 6;

// The codes of the builtin dialect's attributes.
enum class BuiltinAttr : uint8_t {
  array,
  dictionary,
  string,
  typed_string,
  symbol,
  nested_symbol,
  type,
  unit,
  integer,
  floating,
  call_site_location,
  file_location,
  fused_location,
  fused_location_with_metadata,
  name_location,
  unknown_location,
  resource,
  dense_array,
  dense,
  dense_strings,
  sparse,
  distinct,
  file_range_location,
};

enum class BuiltinType : uint8_t {
  integer,
  index,
  function,
  bf16,
  f16,
  f32,
  f64,
  f80,
  f128,
  complex,
  memref,
  memref_with_space,
  none,
  tensor,
  tensor_with_encoding,
  tuple,
  unranked_memref,
  unranked_memref_with_space,
  unranked_tensor,
  vector,
  scalable_vector,
};

enum class VhloAttr : uint8_t {
  array = 1,
  boolean,
  comparison_direction,
  comparison_type,
  custom_call_api_version,
  dictionary,
  fft_type,
  floating,
  integer,
  output_operand_alias,
  precision,
  rng_algorithm,
  rng_distribution,
  string,
  tensor,
  transpose,
  type,
  type_extensions,
  result_accuracy_mode,
  result_accuracy,
  sub_axis_info,
  axis_ref,
  replica_group_mesh_axes,
  mesh_axis,
  mesh,
};

// The codes of VHLO's types that have fields. element_types.h has the others.
enum class VhloType : uint8_t {
  complex = 1,
  function = 8,
  tensor = 20,
  tensor_with_encoding = 21,
  token = 22,
  tuple = 23,
  quantized = 24,
  unranked_tensor = 25,
  witness = 26,
  quantized_per_axis = 30,
  none = 33,
  buffer = 41,
  future = 42,
};

}  // namespace systole::hlo::bytecode
