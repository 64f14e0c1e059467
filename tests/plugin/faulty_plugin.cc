// A PJRT plugin for tests: Systole's, with faults. It announces another version or size, fails in a
// function that a test names, or lacks the functions that write and read programs.
#include <dlfcn.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "systole/pjrt_abi/struct_size.h"

namespace {

struct InjectedError : PJRT_Error {
  std::string message;
  PJRT_Error_Code code = PJRT_Error_Code_RESOURCE_EXHAUSTED;
};

struct Faults {
  std::mutex mutex;
  std::string function;                                       // fails; "": none
  PJRT_Error_Code code = PJRT_Error_Code_RESOURCE_EXHAUSTED;  // how
  std::map<std::string, int64_t, std::less<>> calls;          // by function
  std::set<const PJRT_Error*> made;                           // errors of this library
};

Faults& faults() {
  static Faults& instance = *new Faults();
  return instance;
}

const PJRT_Api& real() {
  static const PJRT_Api& api = *[] {
    Dl_info own{};
    dladdr(reinterpret_cast<void*>(&faults), &own);
    const auto path = std::filesystem::path(own.dli_fname).parent_path() / "libsystole_pjrt.so";
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<const PJRT_Api* (*)()>(dlsym(library, "GetPjrtApi"))();
  }();
  return api;
}

bool is_injected(const PJRT_Error* error) {
  const std::lock_guard lock(faults().mutex);
  return faults().made.contains(error);
}

PJRT_Error* fault_of(const char* function) {
  const std::lock_guard lock(faults().mutex);
  ++faults().calls[function];
  if (faults().function != function) return nullptr;
  auto* const error = new InjectedError();
  error->message = std::string("injected into ") + function;
  error->code = faults().code;
  faults().made.insert(error);
  return error;
}

void destroy(PJRT_Error_Destroy_Args* args) {
  if (!is_injected(args->error)) return real().PJRT_Error_Destroy(args);
  const std::lock_guard lock(faults().mutex);
  faults().made.erase(args->error);
  delete static_cast<InjectedError*>(args->error);
}

void message(PJRT_Error_Message_Args* args) {
  if (!is_injected(args->error)) return real().PJRT_Error_Message(args);
  const std::string& text = static_cast<const InjectedError*>(args->error)->message;
  args->message = text.c_str();
  args->message_size = text.size();
}

PJRT_Error* get_code(PJRT_Error_GetCode_Args* args) {
  if (!is_injected(args->error)) return real().PJRT_Error_GetCode(args);
  args->code = static_cast<const InjectedError*>(args->error)->code;
  return nullptr;
}

// The name of a function as a template argument.
template <size_t kSize>
struct Name {
  char text[kSize];
  constexpr Name(const char (&name)[kSize]) {  // NOLINT(google-explicit-constructor)
    for (size_t i = 0; i < kSize; ++i) text[i] = name[i];
  }
};

template <Name kName, auto kSlot, class Args>
PJRT_Error* faulty(Args* args) {
  PJRT_Error* const error = fault_of(kName.text);
  if (error == nullptr) return (real().*kSlot)(args);
  // A failed destruction destroys, so that the tests leak nothing.
  if (std::string_view(kName.text).ends_with("_Destroy")) (real().*kSlot)(args);
  return error;
}

// Functions of the plugin, its client and its devices.
void add_client_faults(PJRT_Api& table) {
  table.PJRT_Client_AddressableDevices =
      faulty<"PJRT_Client_AddressableDevices", &PJRT_Api::PJRT_Client_AddressableDevices>;
  table.PJRT_Client_BufferFromHostBuffer =
      faulty<"PJRT_Client_BufferFromHostBuffer", &PJRT_Api::PJRT_Client_BufferFromHostBuffer>;
  table.PJRT_Client_Compile = faulty<"PJRT_Client_Compile", &PJRT_Api::PJRT_Client_Compile>;
  table.PJRT_Client_Create = faulty<"PJRT_Client_Create", &PJRT_Api::PJRT_Client_Create>;
  table.PJRT_Client_Destroy = faulty<"PJRT_Client_Destroy", &PJRT_Api::PJRT_Client_Destroy>;
  table.PJRT_Client_PlatformName =
      faulty<"PJRT_Client_PlatformName", &PJRT_Api::PJRT_Client_PlatformName>;
  table.PJRT_Client_PlatformVersion =
      faulty<"PJRT_Client_PlatformVersion", &PJRT_Api::PJRT_Client_PlatformVersion>;
  table.PJRT_DeviceDescription_Attributes =
      faulty<"PJRT_DeviceDescription_Attributes", &PJRT_Api::PJRT_DeviceDescription_Attributes>;
  table.PJRT_DeviceDescription_Id =
      faulty<"PJRT_DeviceDescription_Id", &PJRT_Api::PJRT_DeviceDescription_Id>;
  table.PJRT_DeviceDescription_Kind =
      faulty<"PJRT_DeviceDescription_Kind", &PJRT_Api::PJRT_DeviceDescription_Kind>;
  table.PJRT_DeviceDescription_ProcessIndex =
      faulty<"PJRT_DeviceDescription_ProcessIndex", &PJRT_Api::PJRT_DeviceDescription_ProcessIndex>;
  table.PJRT_Device_GetDescription =
      faulty<"PJRT_Device_GetDescription", &PJRT_Api::PJRT_Device_GetDescription>;
  table.PJRT_Device_MemoryStats =
      faulty<"PJRT_Device_MemoryStats", &PJRT_Api::PJRT_Device_MemoryStats>;
  table.PJRT_Plugin_Attributes =
      faulty<"PJRT_Plugin_Attributes", &PJRT_Api::PJRT_Plugin_Attributes>;
  table.PJRT_Plugin_Initialize =
      faulty<"PJRT_Plugin_Initialize", &PJRT_Api::PJRT_Plugin_Initialize>;
}

// Functions of buffers, programs and events.
void add_program_faults(PJRT_Api& table) {
  table.PJRT_Buffer_Destroy = faulty<"PJRT_Buffer_Destroy", &PJRT_Api::PJRT_Buffer_Destroy>;
  table.PJRT_Buffer_Dimensions =
      faulty<"PJRT_Buffer_Dimensions", &PJRT_Api::PJRT_Buffer_Dimensions>;
  table.PJRT_Buffer_GetMemoryLayout =
      faulty<"PJRT_Buffer_GetMemoryLayout", &PJRT_Api::PJRT_Buffer_GetMemoryLayout>;
  table.PJRT_Buffer_ReadyEvent =
      faulty<"PJRT_Buffer_ReadyEvent", &PJRT_Api::PJRT_Buffer_ReadyEvent>;
  table.PJRT_Buffer_ToHostBuffer =
      faulty<"PJRT_Buffer_ToHostBuffer", &PJRT_Api::PJRT_Buffer_ToHostBuffer>;
  table.PJRT_Event_Destroy = faulty<"PJRT_Event_Destroy", &PJRT_Api::PJRT_Event_Destroy>;
  table.PJRT_Event_IsReady = faulty<"PJRT_Event_IsReady", &PJRT_Api::PJRT_Event_IsReady>;
  table.PJRT_Event_OnReady = faulty<"PJRT_Event_OnReady", &PJRT_Api::PJRT_Event_OnReady>;
  table.PJRT_Executable_Destroy =
      faulty<"PJRT_Executable_Destroy", &PJRT_Api::PJRT_Executable_Destroy>;
  table.PJRT_Executable_GetCompiledMemoryStats =
      faulty<"PJRT_Executable_GetCompiledMemoryStats",
             &PJRT_Api::PJRT_Executable_GetCompiledMemoryStats>;
  table.PJRT_Executable_GetCostAnalysis =
      faulty<"PJRT_Executable_GetCostAnalysis", &PJRT_Api::PJRT_Executable_GetCostAnalysis>;
  table.PJRT_Executable_OptimizedProgram =
      faulty<"PJRT_Executable_OptimizedProgram", &PJRT_Api::PJRT_Executable_OptimizedProgram>;
  table.PJRT_LoadedExecutable_Destroy =
      faulty<"PJRT_LoadedExecutable_Destroy", &PJRT_Api::PJRT_LoadedExecutable_Destroy>;
  table.PJRT_LoadedExecutable_Execute =
      faulty<"PJRT_LoadedExecutable_Execute", &PJRT_Api::PJRT_LoadedExecutable_Execute>;
  table.PJRT_LoadedExecutable_GetExecutable =
      faulty<"PJRT_LoadedExecutable_GetExecutable", &PJRT_Api::PJRT_LoadedExecutable_GetExecutable>;
  table.PJRT_Event_Error = faulty<"PJRT_Event_Error", &PJRT_Api::PJRT_Event_Error>;
  table.PJRT_Executable_NumOutputs =
      faulty<"PJRT_Executable_NumOutputs", &PJRT_Api::PJRT_Executable_NumOutputs>;
}

// Functions that write and read programs: all, or none as in plugins that do not have them.
void set_saving(PJRT_Api& table, bool present) {
  table.PJRT_Executable_Serialize = nullptr;
  table.PJRT_Executable_DeserializeAndLoad = nullptr;
  if (!present) return;
  table.PJRT_Executable_Serialize =
      faulty<"PJRT_Executable_Serialize", &PJRT_Api::PJRT_Executable_Serialize>;
  table.PJRT_Executable_DeserializeAndLoad =
      faulty<"PJRT_Executable_DeserializeAndLoad", &PJRT_Api::PJRT_Executable_DeserializeAndLoad>;
}

PJRT_Api make_table() {
  PJRT_Api table = real();
  table.PJRT_Error_Destroy = destroy;
  table.PJRT_Error_Message = message;
  table.PJRT_Error_GetCode = get_code;
  add_client_faults(table);
  add_program_faults(table);
  set_saving(table, true);
  return table;
}

PJRT_Api& table() {
  static PJRT_Api instance = make_table();
  return instance;
}

std::atomic<bool> no_table = false;

}  // namespace

// The functions through which tests set faults, and count the calls of functions.
extern "C" {
void faulty_fail(const char* function, int code) {
  const std::lock_guard lock(faults().mutex);
  faults().function = function;
  faults().code = static_cast<PJRT_Error_Code>(code);
}
void faulty_set_saving(bool present) { set_saving(table(), present); }
void faulty_announce(int major, int minor, size_t struct_size, size_t version_size) {
  table().pjrt_api_version.major_version = major;
  table().pjrt_api_version.minor_version = minor;
  table().pjrt_api_version.struct_size = version_size;
  table().struct_size = struct_size;
}
int64_t faulty_calls(const char* function) {
  const std::lock_guard lock(faults().mutex);
  return faults().calls[function];
}
void faulty_hide_table(bool hidden) { no_table = hidden; }

const PJRT_Api* GetPjrtApi() { return no_table ? nullptr : &table(); }
}
