#include "systole/runtime/ffi/ffi_types.h"

#include <array>

namespace systole::runtime {

XLA_FFI_DataType ffi_type(DType dtype) {
  // By DType. Source: PrimitiveType of xla/xla_data.proto.
  static constexpr std::array<XLA_FFI_DataType, kNumDTypes> kTypes = {
      0,  1,  26, 21, 2,  3,  4,  5,  27, 22, 6,  7,  8,  9, 32, 29,
      28, 23, 20, 25, 19, 24, 33, 10, 16, 11, 12, 15, 18, 0, 0,  17};
  return kTypes[static_cast<size_t>(dtype)];
}

}  // namespace systole::runtime
