// Element types of the PJRT C API.
#pragma once

#include "systole/base/dtype.h"
#include "systole/pjrt_abi/pjrt_c_api.h"

namespace systole::pjrt_abi {

// Errors: UNIMPLEMENTED for types that DType does not have.
DType to_dtype(PJRT_Buffer_Type type);

// Returns PJRT_Buffer_Type_INVALID for types that no device has.
PJRT_Buffer_Type to_pjrt(DType dtype);

}  // namespace systole::pjrt_abi
