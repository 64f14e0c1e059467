// Constants of a bytecode file as MLIR text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "systole/stablehlo/bytecode/byte_reader.h"

namespace systole::hlo::bytecode {

// tensor<2x?xf32>, as far as constants need it.
struct TensorForm {
  std::vector<int64_t> sizes;
  std::string element;    // "f32", "complex<f32>", "!quant.uniform<...>"
  int element_bytes = 0;  // 0: no constants of it
};

struct DenseText {
  std::string text;                              // dense<[1, 2]>, without its type
  std::optional<std::vector<int64_t>> integers;  // of a short list of i64
};

// Converts the elements of a constant: all, or one that stands for all. Elements of i1 are packed
// into bits, or take a byte each, as MLIR wrote them before. `at` gives the place for errors.
// Errors: INVALID_ARGUMENT if the bytes do not fit the type.
DenseText dense_text(const TensorForm& form, std::string_view bytes, const ByteReader& at);

// Returns "1.0 : f32"; the bits in hexadecimal for numbers that are not finite, and for types
// without decimals here.
std::string number_text(uint64_t bits, std::string_view type);

}  // namespace systole::hlo::bytecode
