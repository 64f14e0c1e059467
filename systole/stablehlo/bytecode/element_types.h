// The types without fields, by their codes in VHLO.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "systole/stablehlo/bytecode/container.h"

namespace systole::hlo::bytecode {

struct ElementType {
  uint8_t code;           // in VHLO
  std::string_view name;  // in MLIR text
  int bytes;              // of an element in a constant
  VhloVersion since = kOldestVhlo;
};

inline constexpr ElementType kElementTypes[] = {
    {0, "i1", 1},
    {2, "bf16", 2},
    {3, "f16", 2},
    {4, "f32", 4},
    {5, "f64", 8},
    {6, "f8E4M3FN", 1},
    {7, "f8E5M2", 1},
    {9, "index", 8},
    {10, "i4", 1},
    {11, "i8", 1},
    {12, "i16", 2},
    {13, "i32", 4},
    {14, "i64", 8},
    {15, "ui4", 1},
    {16, "ui8", 1},
    {17, "ui16", 2},
    {18, "ui32", 4},
    {19, "ui64", 8},
    {27, "f8E4M3FNUZ", 1, {0, 10, 0}},
    {28, "f8E5M2FNUZ", 1, {0, 10, 0}},
    {29, "f8E4M3B11FNUZ", 1, {0, 11, 0}},
    {31, "i2", 1, {1, 2, 0}},
    {32, "ui2", 1, {1, 2, 0}},
    {34, "tf32", 3, {1, 6, 0}},
    {35, "f8E4M3", 1, {1, 7, 0}},
    {36, "f8E3M4", 1, {1, 7, 0}},
    {37, "f4E2M1FN", 1, {1, 8, 0}},
    {38, "f6E2M3FN", 1, {1, 8, 0}},
    {39, "f6E3M2FN", 1, {1, 8, 0}},
    {40, "f8E8M0FNU", 1, {1, 8, 0}},
};

// Return nullptr if there is none.
const ElementType* element_type(uint64_t code);
const ElementType* element_type(std::string_view name);

}  // namespace systole::hlo::bytecode
