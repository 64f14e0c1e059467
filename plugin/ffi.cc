// Registration of handlers of XLA's FFI: the API's extension, and functions for the plugin's Python
// package, which registers all stages of a handler.
#include "plugin/ffi.h"

#include <exception>
#include <string>

#include "plugin/error.h"
#include "systole/runtime/ffi/ffi_registry.h"

namespace systole::plugin {
namespace {

PJRT_Error* type_register(PJRT_FFI_Type_Register_Args* args) {
  return run("PJRT_FFI_Type_Register", args, [](PJRT_FFI_Type_Register_Args& a) {
    const XLA_FFI_TypeInfo info{.struct_size = sizeof(XLA_FFI_TypeInfo),
                                .extension_start = nullptr,
                                .deleter = a.type_info == nullptr ? nullptr : a.type_info->deleter};
    a.type_id = runtime::register_ffi_type({a.type_name, a.type_name_size}, a.type_id, &info);
  });
}

PJRT_Error* user_data_add(PJRT_FFI_UserData_Add_Args* args) {
  return run("PJRT_FFI_UserData_Add", args, [](PJRT_FFI_UserData_Add_Args&) {
    throw unimplemented("PJRT_FFI_UserData_Add: the systole plugin does not have this function");
  });
}

// Handlers are there on all platforms.
PJRT_Error* register_handler(PJRT_FFI_Register_Handler_Args* args) {
  return run("PJRT_FFI_Register_Handler", args, [](PJRT_FFI_Register_Handler_Args& a) {
    const XLA_FFI_Handler_Bundle stages{.instantiate = nullptr,
                                        .prepare = nullptr,
                                        .initialize = nullptr,
                                        .execute = reinterpret_cast<XLA_FFI_Handler*>(a.handler)};
    runtime::register_ffi_handler({a.target_name, a.target_name_size}, stages);
  });
}

}  // namespace

constinit PJRT_FFI_Extension ffi_extension = {
    .base = {.struct_size = PJRT_FFI_Extension_STRUCT_SIZE,
             .type = PJRT_Extension_Type_FFI,
             .next = nullptr},
    .type_register = type_register,
    .user_data_add = user_data_add,
    .register_handler = register_handler};

}  // namespace systole::plugin

namespace {

// Returns null, or the message of the error that `body` throws, which stays until this thread's
// next call.
template <class Body>
const char* message_of(const Body& body) noexcept {
  thread_local std::string message;
  try {
    body();
    return nullptr;
  } catch (const std::exception& error) {
    message = error.what();
    return message.c_str();
  }
}

}  // namespace

// Registers a handler that programs call by this name. Returns null, or the message of an error:
// those of register_ffi_handler(). Thread-safe.
extern "C" __attribute__((visibility("default"))) const char* systole_register_ffi_handler(
    const char* name, size_t name_size, const XLA_FFI_Handler_Bundle* handler) {
  return message_of([&] { systole::runtime::register_ffi_handler({name, name_size}, *handler); });
}

// Registers a type of the states of handlers. `type_id` is 0 or the wanted id, and holds the id
// afterwards. Returns as systole_register_ffi_handler(). Thread-safe.
extern "C" __attribute__((visibility("default"))) const char* systole_register_ffi_type(
    const char* name, size_t name_size, XLA_FFI_TypeId* type_id, const XLA_FFI_TypeInfo* info) {
  return message_of([&] {
    type_id->type_id =
        systole::runtime::register_ffi_type({name, name_size}, type_id->type_id, info);
  });
}
