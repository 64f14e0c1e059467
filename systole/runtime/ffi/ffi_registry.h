// The handlers that programs call by name: custom calls of XLA's FFI.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "systole/runtime/ffi/ffi_c_api.h"

namespace systole::runtime {

// Registers a handler for all devices of this process, for as long as it lives. Thread-safe.
// Errors: INVALID_ARGUMENT without a function to execute, and for a handler of another major
// version of the FFI; ALREADY_EXISTS for other functions of a name that is taken; what the handler
// answers when it is asked for its version.
void register_ffi_handler(std::string_view name, const XLA_FFI_Handler_Bundle& handler);
// Thread-safe. nullopt: there is none.
std::optional<XLA_FFI_Handler_Bundle> find_ffi_handler(std::string_view name);

// Registers a type of a handler's states, or of what a context holds, and returns its id. 0: any
// id. Thread-safe. Errors: INVALID_ARGUMENT if the name has another id, or the id another name.
int64_t register_ffi_type(std::string_view name, int64_t id, const XLA_FFI_TypeInfo* info);
// Deletes a state, if its type says how. Thread-safe.
void delete_ffi_object(int64_t type_id, void* object);

}  // namespace systole::runtime
