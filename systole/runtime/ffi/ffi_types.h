// Element types of XLA's FFI.
#pragma once

#include "systole/base/dtype.h"
#include "systole/runtime/ffi/ffi_c_api.h"

namespace systole::runtime {

// Returns the number of XLA's PrimitiveType; 0 for types that no buffer has.
XLA_FFI_DataType ffi_type(DType dtype);

}  // namespace systole::runtime
