// Errors of the plugin, and the frame of every function of the PJRT C API.
#pragma once

#include <cstring>
#include <exception>
#include <string_view>
#include <type_traits>

#include "systole/base/error.h"
#include "systole/pjrt_abi/struct_size.h"

namespace systole::plugin {

// Makes the error that a function of the API returns. The caller of the function destroys it.
// Without memory it is an error that says so.
PJRT_Error* to_pjrt(const Error& error) noexcept;
// Makes an error of the exception that is being handled.
PJRT_Error* current_error() noexcept;

// The smallest struct_size that is accepted of a struct T: callers of older versions pass structs
// without the fields that were added since.
template <class T>
inline constexpr size_t kSmallestStruct = pjrt_abi::kStructSize<T>;
template <>
inline constexpr size_t kSmallestStruct<PJRT_Client_Create_Args> = offsetof(PJRT_Client_Create_Args,
                                                                            kv_try_get_callback);
template <>
inline constexpr size_t kSmallestStruct<PJRT_ExecuteOptions> =
    offsetof(PJRT_ExecuteOptions, non_donatable_input_indices);
template <>
inline constexpr size_t kSmallestStruct<PJRT_Executable_DeserializeAndLoad_Args> =
    offsetof(PJRT_Executable_DeserializeAndLoad_Args, overridden_serialized_compile_options);
template <>
inline constexpr size_t kSmallestStruct<PJRT_Client_CreateViewOfDeviceBuffer_Args> =
    offsetof(PJRT_Client_CreateViewOfDeviceBuffer_Args, memory);
template <>
inline constexpr size_t kSmallestStruct<PJRT_Device_MemoryStats_Args> =
    offsetof(PJRT_Device_MemoryStats_Args, peak_bytes_in_use);
template <>
inline constexpr size_t kSmallestStruct<PJRT_Executable_GetCompiledMemoryStats_Args> =
    offsetof(PJRT_Executable_GetCompiledMemoryStats_Args, peak_memory_in_bytes);

// Errors: INVALID_ARGUMENT for a null struct or one that is smaller than its smallest version.
void check_struct(std::string_view function, const void* args, size_t smallest);

// Runs `body` on the arguments of `function` and returns its error. A struct of an older version is
// replaced by a copy whose later fields are zero.
template <class Args, class Body>
PJRT_Error* run(std::string_view function, Args* args, Body&& body) noexcept {
  try {
    check_struct(function, args, kSmallestStruct<Args>);
    if (args->struct_size >= pjrt_abi::kStructSize<Args>) {
      body(*args);
      return nullptr;
    }
    const size_t size = args->struct_size;
    Args copy{};
    std::memcpy(static_cast<void*>(&copy), args, size);
    body(copy);
    std::memcpy(static_cast<void*>(args), &copy, size);
    return nullptr;
  } catch (...) {
    return current_error();
  }
}

}  // namespace systole::plugin
