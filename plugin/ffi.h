// The API's extension of XLA's FFI.
#pragma once

#include "systole/pjrt_abi/pjrt_c_api.h"

namespace systole::plugin {

// Registers handlers and types for all clients of the process.
extern PJRT_FFI_Extension ffi_extension;

}  // namespace systole::plugin
