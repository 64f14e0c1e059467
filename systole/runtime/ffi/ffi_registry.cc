#include "systole/runtime/ffi/ffi_registry.h"

#include <map>

#include "systole/base/error.h"
#include "systole/base/mutex.h"
#include "systole/runtime/ffi/ffi_api.h"

namespace systole::runtime {
namespace {

struct FfiType {
  std::string name;
  void (*deleter)(void*) = nullptr;
};

struct FfiRegistry {
  Mutex mutex;
  std::map<std::string, XLA_FFI_Handler_Bundle, std::less<>> handlers SYSTOLE_GUARDED_BY(mutex);
  std::map<int64_t, FfiType> types SYSTOLE_GUARDED_BY(mutex);
  int64_t last_type SYSTOLE_GUARDED_BY(mutex) = 0;
};

FfiRegistry& ffi_registry() {
  static auto& registry = *new FfiRegistry;
  return registry;
}

// Calls the handler once with an extension that asks for the version of the FFI with which it was
// compiled; it does no work in this call. Errors: INVALID_ARGUMENT for another major version; those
// of the handler.
void check_ffi_version(std::string_view name, XLA_FFI_Handler* handler) {
  XLA_FFI_Metadata metadata{.struct_size = sizeof(XLA_FFI_Metadata),
                            .api_version = {.struct_size = sizeof(XLA_FFI_Api_Version),
                                            .extension_start = nullptr,
                                            .major_version = kFfiMajor,
                                            .minor_version = kFfiMinor},
                            .traits = 0,
                            .state_type_id = {0}};
  XLA_FFI_Metadata_Extension extension{
      .extension_base = {.struct_size = sizeof(XLA_FFI_Metadata_Extension),
                         .type = XLA_FFI_Extension_Metadata,
                         .next = nullptr},
      .metadata = &metadata};
  XLA_FFI_CallFrame frame{};
  frame.struct_size = sizeof(XLA_FFI_CallFrame);
  frame.extension_start = &extension.extension_base;
  frame.api = &ffi_api();
  frame.stage = XLA_FFI_ExecutionStage_EXECUTE;
  if (XLA_FFI_Error* const error = handler(&frame)) throw take_ffi_error(error, name);
  const int major = metadata.api_version.major_version;
  if (major != kFfiMajor) {
    throw invalid_argument("custom_call '{}': handler, got version {}.{} of XLA's FFI, expected {}",
                           name, major, metadata.api_version.minor_version, kFfiMajor);
  }
}

bool same_functions(const XLA_FFI_Handler_Bundle& a, const XLA_FFI_Handler_Bundle& b) {
  return a.instantiate == b.instantiate && a.prepare == b.prepare && a.initialize == b.initialize &&
         a.execute == b.execute;
}

}  // namespace

void register_ffi_handler(std::string_view name, const XLA_FFI_Handler_Bundle& handler) {
  if (handler.execute == nullptr) {
    throw invalid_argument("custom_call '{}': handler, got none to execute, expected one", name);
  }
  check_ffi_version(name, handler.execute);
  FfiRegistry& r = ffi_registry();
  const MutexLock lock(r.mutex);
  const auto [entry, added] = r.handlers.emplace(name, handler);
  if (added || same_functions(entry->second, handler)) return;
  throw make_error(Code::already_exists, "custom_call '{}': handler, got another one of that name",
                   name);
}

std::optional<XLA_FFI_Handler_Bundle> find_ffi_handler(std::string_view name) {
  FfiRegistry& r = ffi_registry();
  const MutexLock lock(r.mutex);
  const auto entry = r.handlers.find(name);
  return entry == r.handlers.end() ? std::nullopt : std::optional(entry->second);
}

int64_t register_ffi_type(std::string_view name, int64_t id, const XLA_FFI_TypeInfo* info) {
  FfiRegistry& r = ffi_registry();
  const MutexLock lock(r.mutex);
  for (const auto& [other, type] : r.types) {
    if (type.name != name && other != id) continue;
    if (type.name == name && (id == 0 || other == id)) return other;
    throw invalid_argument("FFI: type '{}' with id {}, got one beside '{}' with id {}", name, id,
                           type.name, other);
  }
  if (id == 0) {
    do {
      ++r.last_type;
    } while (r.types.contains(r.last_type));
    id = r.last_type;
  }
  r.types[id] = {std::string(name), info == nullptr ? nullptr : info->deleter};
  return id;
}

void delete_ffi_object(int64_t type_id, void* object) {
  void (*deleter)(void*) = nullptr;
  {
    FfiRegistry& r = ffi_registry();
    const MutexLock lock(r.mutex);
    const auto type = r.types.find(type_id);
    if (type != r.types.end()) deleter = type->second.deleter;
  }
  if (deleter != nullptr && object != nullptr) deleter(object);
}

}  // namespace systole::runtime
