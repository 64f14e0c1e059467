// Checks of the table of functions, of errors and of events.
#include <array>
#include <cstring>
#include <set>
#include <string>

#include "apps/systole/conform/host.h"

namespace systole::app::conform {
namespace {

// What a client cannot do without.
void check_required_functions(const Host& host) {
  std::string missing;
  const auto require = [&]<class Args>(std::type_identity<Args>) {
    if (!host.has<Args>()) missing += fmt::format(" {}", FunctionOf<Args>::kName);
  };
  const auto require_all = [&]<class... Args>() { (require(std::type_identity<Args>{}), ...); };
  require_all.operator()<
      PJRT_Error_GetCode_Args, PJRT_Plugin_Initialize_Args, PJRT_Event_Destroy_Args,
      PJRT_Event_IsReady_Args, PJRT_Event_Error_Args, PJRT_Event_Await_Args,
      PJRT_Event_OnReady_Args, PJRT_Client_Create_Args, PJRT_Client_Destroy_Args,
      PJRT_Client_PlatformName_Args, PJRT_Client_Devices_Args, PJRT_Client_AddressableDevices_Args,
      PJRT_Client_Compile_Args, PJRT_Client_BufferFromHostBuffer_Args,
      PJRT_DeviceDescription_Id_Args, PJRT_Device_GetDescription_Args,
      PJRT_LoadedExecutable_Destroy_Args, PJRT_LoadedExecutable_GetExecutable_Args,
      PJRT_LoadedExecutable_Execute_Args, PJRT_Executable_Destroy_Args,
      PJRT_Executable_NumOutputs_Args, PJRT_Buffer_Destroy_Args, PJRT_Buffer_ElementType_Args,
      PJRT_Buffer_Dimensions_Args, PJRT_Buffer_ToHostBuffer_Args, PJRT_Buffer_ReadyEvent_Args>();
  expect(missing.empty(), "functions are NULL:{}", missing);
  expect(host.api().PJRT_Error_Destroy != nullptr, "PJRT_Error_Destroy is NULL");
  expect(host.api().PJRT_Error_Message != nullptr, "PJRT_Error_Message is NULL");
}

void check_version(const Host& host) {
  const PJRT_Api& api = host.api();
  expect(api.pjrt_api_version.struct_size >= PJRT_Api_Version_STRUCT_SIZE,
         "size of PJRT_Api_Version, got {}", api.pjrt_api_version.struct_size);
  expect(api.pjrt_api_version.minor_version > 0, "minor version, got {}",
         api.pjrt_api_version.minor_version);
  // The table ends after a whole number of functions.
  expect(api.struct_size % sizeof(void*) == 0, "size of PJRT_Api, got {}", api.struct_size);
}

void check_extensions(const Host& host) {
  std::set<int> types;
  size_t count = 0;
  for (const PJRT_Extension_Base* at = host.api().extension_start; at != nullptr; at = at->next) {
    expect(++count < 1000, "the list of extensions does not end");
    expect(at->struct_size >= sizeof(PJRT_Extension_Base), "size of the extension of type {}: {}",
           static_cast<int>(at->type), at->struct_size);
    expect(types.insert(static_cast<int>(at->type)).second, "two extensions have the type {}",
           static_cast<int>(at->type));
  }
}

void check_named_values(std::span<const PJRT_NamedValue> values, std::string_view of) {
  std::set<std::string> names;
  for (const PJRT_NamedValue& value : values) {
    const std::string name = text_of(value.name, value.name_size);
    expect(!name.empty(), "an attribute of {} has no name", of);
    expect(names.insert(name).second, "{} has two attributes '{}'", of, name);
    expect(value.type >= PJRT_NamedValue_kString && value.type <= PJRT_NamedValue_kBool,
           "type of '{}', got {}", name, static_cast<int>(value.type));
    if (value.type == PJRT_NamedValue_kString) text_of(value.string_value, value.value_size);
    if (value.type == PJRT_NamedValue_kInt64List && value.value_size > 0)
      expect(value.int64_array_value != nullptr, "the list '{}' is NULL", name);
  }
}

void check_plugin_attributes(const Host& host) {
  const auto told = host.call<PJRT_Plugin_Attributes_Args>([](auto&) {});
  expect(told.num_attributes == 0 || told.attributes != nullptr, "the attributes are NULL");
  check_named_values({told.attributes, told.num_attributes}, "the plugin");
  for (size_t i = 0; i < told.num_attributes; ++i) {
    const PJRT_NamedValue& value = told.attributes[i];
    const std::string name = text_of(value.name, value.name_size);
    if (name != "stablehlo_current_version" && name != "stablehlo_minimum_version") continue;
    expect(value.type == PJRT_NamedValue_kInt64List && value.value_size == 3,
           "'{}', expected a list of three numbers", name);
  }
}

void check_initialize_again(const Host& host) {
  host.call<PJRT_Plugin_Initialize_Args>([](auto&) {});
  host.call<PJRT_Plugin_Initialize_Args>([](auto&) {});
}

PJRT_Error* make_error(const Client& client) {
  auto args = make<PJRT_Client_LookupDevice_Args>();
  args.client = client.get();
  args.id = 1 << 30;
  PJRT_Error* const error = client.host().start(args);
  expect(error != nullptr, "PJRT_Client_LookupDevice found the device {}", args.id);
  return error;
}

void check_errors(const Host& host) {
  const Client client(host);
  PJRT_Error* const error = make_error(client);
  for (int i = 0; i < 3; ++i) {  // reading does not change it
    auto message = make<PJRT_Error_Message_Args>();
    message.error = error;
    host.api().PJRT_Error_Message(&message);
    expect(message.message != nullptr && message.message_size > 0, "the error has no message");
  }
  host.take(error);
}

void check_errors_outlive_clients(const Host& host) {
  PJRT_Error* error = nullptr;
  {
    const Client client(host);
    error = make_error(client);
  }
  expect(!host.take(error).message.empty(), "the error has no message after its client's end");
}

void visit(const char* key, size_t key_size, const char* value, size_t value_size, void* count) {
  text_of(key, key_size);
  text_of(value, value_size);
  ++*static_cast<int*>(count);
}

void check_payloads(const Host& host) {
  const Client client(host);
  PJRT_Error* const error = make_error(client);
  int count = 0;
  auto args = make<PJRT_Error_ForEachPayload_Args>();
  args.error = error;
  args.visitor = visit;
  args.user_arg = &count;
  if (!host.has<PJRT_Error_ForEachPayload_Args>()) {
    host.take(error);
    throw Absent{"PJRT_Error_ForEachPayload"};
  }
  PJRT_Error* const wrong = host.start(args);
  host.take(error);
  if (wrong != nullptr) fail("PJRT_Error_ForEachPayload: {}", host.take(wrong).message);
}

// A plugin must not write behind the struct of an older caller.
void check_small_structs(const Host& host) {
  const Client client(host);
  struct Guarded {
    PJRT_Client_Devices_Args args;
    uint64_t guard;
  } guarded{.args = make<PJRT_Client_Devices_Args>(), .guard = 0x5A5A5A5A5A5A5A5AU};
  guarded.args.client = client.get();
  guarded.args.struct_size = sizeof(size_t);
  if (PJRT_Error* const error = host.start(guarded.args)) {
    expect(!host.take(error).message.empty(), "the error about a small struct has no message");
  } else {
    fail("PJRT_Client_Devices took a struct of {} bytes", sizeof(size_t));
  }
  expect(guarded.guard == 0x5A5A5A5A5A5A5A5AU, "the plugin wrote behind the struct");
}

// A newer caller's structs are larger.
void check_large_structs(const Host& host) {
  const Client client(host);
  struct Large {
    PJRT_Client_Devices_Args args;
    std::array<std::byte, 256> more;
  } large{.args = make<PJRT_Client_Devices_Args>(), .more = {}};
  large.args.struct_size = sizeof(Large);
  large.args.client = client.get();
  if (PJRT_Error* const error = host.start(large.args))
    fail("PJRT_Client_Devices refused the larger struct of a newer caller: {}",
         host.take(error).message);
  expect(large.args.num_devices > 0, "no devices for a newer caller");
  for (const std::byte b : large.more)
    expect(b == std::byte{}, "the plugin wrote behind its struct");
}

struct Call {
  int count = 0;
  bool failed = false;
};
void note_call(PJRT_Error* error, void* user) {
  auto* const call = static_cast<Call*>(user);
  ++call->count;
  call->failed = error != nullptr;
}

void check_event_callbacks(const Host& host) {
  const Client client(host);
  const Buffer buffer = client.put(floats({1, 2, 3}));
  const Event event = ready_event(host, buffer.get());
  Call before;
  Call after;
  host.call<PJRT_Event_OnReady_Args>([&](auto& args) {
    args.event = event.get();
    args.callback = note_call;
    args.user_arg = &before;
  });
  host.call<PJRT_Event_Await_Args>([&](auto& args) { args.event = event.get(); });
  host.call<PJRT_Event_OnReady_Args>([&](auto& args) {  // of an event that is ready
    args.event = event.get();
    args.callback = note_call;
    args.user_arg = &after;
  });
  for (int i = 0; i < 1000 && (before.count == 0 || after.count == 0); ++i)
    host.call<PJRT_Event_IsReady_Args>([&](auto& args) { args.event = event.get(); });
  expect(before.count == 1, "a callback ran {} times, expected once", before.count);
  expect(after.count == 1, "a callback of a ready event ran {} times, expected once", after.count);
  expect(!before.failed && !after.failed, "a callback of an event without an error got one");
}

void check_event_error_of_success(const Host& host) {
  const Client client(host);
  const Buffer buffer = client.put(floats({1}));
  const Event event = ready_event(host, buffer.get());
  host.call<PJRT_Event_Await_Args>([&](auto& args) { args.event = event.get(); });
  host.call<PJRT_Event_Await_Args>([&](auto& args) { args.event = event.get(); });  // again
  host.call<PJRT_Event_Error_Args>([&](auto& args) { args.event = event.get(); });
}

void check_events_outlive_buffers(const Host& host) {
  const Client client(host);
  Buffer buffer = client.put(floats({1, 2}));
  const Event event = ready_event(host, buffer.get());
  buffer.reset();
  auto args = make<PJRT_Event_Await_Args>();
  args.event = event.get();
  if (PJRT_Error* const error = host.start(args)) host.take(error);  // either is right; no crash
}

Event new_event(const Host& host) {
  return {host, host.call<PJRT_Event_Create_Args>([](auto&) {}).event};
}

void check_event_set(const Host& host) {
  Event event = new_event(host);
  auto ready = host.call<PJRT_Event_IsReady_Args>([&](auto& args) { args.event = event.get(); });
  expect(!ready.is_ready, "a new event is ready");
  Call call;
  host.call<PJRT_Event_OnReady_Args>([&](auto& args) {
    args.event = event.get();
    args.callback = note_call;
    args.user_arg = &call;
  });
  expect(call.count == 0, "the callback of an event that is not set ran");
  host.call<PJRT_Event_Set_Args>([&](auto& args) { args.event = event.get(); });
  host.await(event.release(), "an event that was set");
  expect(call.count == 1 && !call.failed, "the callback of an event that was set did not run");
}

void check_event_set_error(const Host& host) {
  Event event = new_event(host);
  constexpr std::string_view kWhy = "the reason";
  host.call<PJRT_Event_Set_Args>([&](auto& args) {
    args.event = event.get();
    args.error_code = PJRT_Error_Code_DATA_LOSS;
    args.error_message = kWhy.data();
    args.error_message_size = kWhy.size();
  });
  const PluginError told = host.wait(event.release());
  expect(told.code == PJRT_Error_Code_DATA_LOSS, "code of an event's error, got {}, expected 15",
         static_cast<int>(told.code));
  expect(told.message.find(kWhy) != std::string::npos, "message of an event's error, got '{}'",
         told.message);
}

constexpr Check kChecks[] = {
    {"the functions that every client needs are there", "PJRT_Api", check_required_functions},
    {"the version and the size of the table", "PJRT_Api", check_version},
    {"the list of extensions ends, each type once", "PJRT_Api", check_extensions},
    {"initialise again", "PJRT_Plugin_Initialize", check_initialize_again},
    {"the plugin's attributes are well formed", "PJRT_Plugin_Attributes", check_plugin_attributes},
    {"read an error several times", "PJRT_Error_Message PJRT_Error_GetCode PJRT_Error_Destroy",
     check_errors},
    {"an error outlives its client", "PJRT_Error_Message", check_errors_outlive_clients},
    {"visit the payloads of an error", "PJRT_Error_ForEachPayload", check_payloads},
    {"a struct that is too small is refused", "PJRT_Client_Devices", check_small_structs},
    {"the larger struct of a newer caller is taken", "PJRT_Client_Devices", check_large_structs},
    {"callbacks of an event run once, before and after it is ready",
     "PJRT_Event_OnReady PJRT_Event_Await", check_event_callbacks},
    {"await an event twice", "PJRT_Event_Await PJRT_Event_Error PJRT_Event_IsReady",
     check_event_error_of_success},
    {"an event outlives its buffer", "PJRT_Event_Await PJRT_Event_Destroy",
     check_events_outlive_buffers},
    {"an event of the caller", "PJRT_Event_Create PJRT_Event_Set", check_event_set},
    {"an event of the caller with an error", "PJRT_Event_Create PJRT_Event_Set",
     check_event_set_error},
};

}  // namespace

std::span<const Check> table_checks() { return kChecks; }

}  // namespace systole::app::conform
