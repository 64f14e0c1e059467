// Which dtypes an op takes.
#pragma once

#include <cstdint>
#include <string_view>

#include "systole/base/dtype.h"

namespace systole {

// Returns whether tensors of graphs may have it, if they hold numbers: TensorFlow's ops have
// neither integers of 2 bits nor floats below 16.
inline bool is_graph_dtype(DType dtype) {
  return is_numeric(dtype) && !is_small_float(dtype) && dtype_info(dtype).bits != 2;
}

enum class DTypeClass : uint8_t {
  any,            // whatever a device can hold
  boolean,        // pred
  floating,       // f16 bf16 f32 f64
  signed_number,  // floating, s8..s64
  number,         // floating, s8..s64, u8..u64
};

bool contains(DTypeClass dtypes, DType dtype);
// "a floating one"
std::string_view describe(DTypeClass dtypes);
// Errors: INVALID_ARGUMENT `<what>, got s32, expected a floating one`.
void check_dtype(std::string_view what, DType got, DTypeClass expected);

// The dtype that sums and products of many elements of `dtype` are accumulated in, as XLA does on
// TPU: f32 for 16-bit floating types, else `dtype` itself.
DType accumulation_dtype(DType dtype);

}  // namespace systole
