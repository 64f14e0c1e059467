// Registration of handlers of XLA's FFI, for the plugin's Python package.
#include <exception>
#include <string>

#include "systole/runtime/ffi/ffi_registry.h"

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
