#include "apps/systole/conform/host.h"

#include <dlfcn.h>

#include <cstring>
#include <numeric>

namespace systole::app::conform {

Host::Host(const Setup& setup) : setup_(setup) {
  void* const library = dlopen(setup.plugin.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) fail("the library cannot be loaded: {}", dlerror());
  using GetApi = const PJRT_Api* (*)();
  const auto get_api = reinterpret_cast<GetApi>(dlsym(library, "GetPjrtApi"));
  expect(get_api != nullptr, "the library has no function GetPjrtApi");
  api_ = get_api();
  expect(api_ != nullptr, "GetPjrtApi returned NULL");
  expect(get_api() == api_, "GetPjrtApi returned another table in the second call");
  expect(api_->pjrt_api_version.major_version == 0, "major version, got {}, expected 0",
         api_->pjrt_api_version.major_version);
  auto args = make<PJRT_Plugin_Initialize_Args>();
  if (PJRT_Error* const error = start(args))
    fail("PJRT_Plugin_Initialize: {}", take(error).message);
}

PluginError Host::take(PJRT_Error* error) const {
  PluginError told;
  auto code = make<PJRT_Error_GetCode_Args>();
  code.error = error;
  expect(api_->PJRT_Error_GetCode(&code) == nullptr, "PJRT_Error_GetCode failed");
  told.code = code.code;
  auto message = make<PJRT_Error_Message_Args>();
  message.error = error;
  api_->PJRT_Error_Message(&message);
  told.message = text_of(message.message, message.message_size);
  auto destroy = make<PJRT_Error_Destroy_Args>();
  destroy.error = error;
  api_->PJRT_Error_Destroy(&destroy);
  expect(told.code > 0 && told.code <= 16, "code of an error, got {}, expected 1 to 16 ('{}')",
         static_cast<int>(told.code), told.message);
  return told;
}

PluginError Host::wait(PJRT_Event* event) const {
  const Event owned(*this, event);
  expect(event != nullptr, "an event is NULL");
  auto args = make<PJRT_Event_Await_Args>();
  args.event = event;
  PJRT_Error* const error = start(args);
  auto ready = make<PJRT_Event_IsReady_Args>();
  ready.event = event;
  if (PJRT_Error* const wrong = start(ready)) fail("PJRT_Event_IsReady: {}", take(wrong).message);
  expect(ready.is_ready, "an event that was awaited is not ready");
  return error == nullptr ? PluginError{} : take(error);
}

void Host::await(PJRT_Event* event, std::string_view what) const {
  const PluginError error = wait(event);
  expect(error.code == PJRT_Error_Code_OK, "{}: {}", what, error.message);
}

bool is_ready(const Host& host, const Event& event) {
  return host.call<PJRT_Event_IsReady_Args>([&](auto& args) { args.event = event.get(); }).is_ready;
}

Event ready_event(const Host& host, PJRT_Buffer* buffer) {
  return {host,
          host.call<PJRT_Buffer_ReadyEvent_Args>([&](auto& args) { args.buffer = buffer; }).event};
}

std::string text_of(const char* text, size_t size) {
  expect(text != nullptr || size == 0, "a text of {} bytes is NULL", size);
  return size == 0 ? "" : std::string(text, size);
}

size_t element_size(PJRT_Buffer_Type type) {
  switch (type) {
    case PJRT_Buffer_Type_PRED:
    case PJRT_Buffer_Type_S8:
    case PJRT_Buffer_Type_U8:
      return 1;
    case PJRT_Buffer_Type_S16:
    case PJRT_Buffer_Type_U16:
    case PJRT_Buffer_Type_F16:
    case PJRT_Buffer_Type_BF16:
      return 2;
    case PJRT_Buffer_Type_S32:
    case PJRT_Buffer_Type_U32:
    case PJRT_Buffer_Type_F32:
      return 4;
    case PJRT_Buffer_Type_S64:
    case PJRT_Buffer_Type_U64:
    case PJRT_Buffer_Type_F64:
    case PJRT_Buffer_Type_C64:
      return 8;
    case PJRT_Buffer_Type_C128:
      return 16;
    default:
      return 0;
  }
}

HostArray floats(std::vector<float> values) {
  const auto count = static_cast<int64_t>(values.size());
  return matrix(0, count, std::move(values));
}

// 0 rows: a vector.
HostArray matrix(int64_t rows, int64_t columns, std::vector<float> values) {
  HostArray array{.dims = {columns}};
  if (rows > 0) array.dims = {rows, columns};
  array.bytes.resize(values.size() * sizeof(float));
  std::memcpy(array.bytes.data(), values.data(), array.bytes.size());
  return array;
}

Client::Client(const Host& host) : host_(&host) {
  std::vector<PJRT_NamedValue> options;
  for (const ClientOption& option : host.setup().options) {
    auto value = make<PJRT_NamedValue>();
    value.name = option.name.c_str();
    value.name_size = option.name.size();
    value.type = PJRT_NamedValue_kString;
    value.string_value = option.value.c_str();
    value.value_size = option.value.size();
    options.push_back(value);
  }
  client_ = host.call<PJRT_Client_Create_Args>([&](auto& args) {
                  args.create_options = options.data();
                  args.num_options = options.size();
                })
                .client;
  expect(client_ != nullptr, "PJRT_Client_Create gave no client");
}

Client::~Client() {
  if (client_ == nullptr) return;
  auto args = make<PJRT_Client_Destroy_Args>();
  args.client = client_;
  host_->api().PJRT_Client_Destroy(&args);
}

void Client::destroy() {
  host_->call<PJRT_Client_Destroy_Args>(
      [&](auto& args) { args.client = std::exchange(client_, nullptr); });
}

std::vector<PJRT_Device*> Client::devices() const {
  const auto told =
      host_->call<PJRT_Client_AddressableDevices_Args>([&](auto& args) { args.client = client_; });
  expect(told.num_addressable_devices > 0, "the client has no addressable devices");
  return {told.addressable_devices, told.addressable_devices + told.num_addressable_devices};
}

Buffer Client::put(const HostArray& array, PJRT_Device* device) const {
  const auto told = host_->call<PJRT_Client_BufferFromHostBuffer_Args>([&](auto& args) {
    args.client = client_;
    args.data = array.bytes.data();
    args.type = array.type;
    args.dims = array.dims.data();
    args.num_dims = array.dims.size();
    args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
    args.device = device == nullptr ? this->device() : device;
  });
  Buffer buffer(*host_, told.buffer);
  expect(told.buffer != nullptr, "PJRT_Client_BufferFromHostBuffer gave no buffer");
  host_->await(told.done_with_host_buffer, "done_with_host_buffer");
  return buffer;
}

Sent Client::send(std::span<const float> data, PJRT_HostBufferSemantics semantics) const {
  const auto size = static_cast<int64_t>(data.size());
  const auto told = host_->call<PJRT_Client_BufferFromHostBuffer_Args>([&](auto& args) {
    args.client = client_;
    args.data = data.data();
    args.type = PJRT_Buffer_Type_F32;
    args.dims = &size;
    args.num_dims = 1;
    args.host_buffer_semantics = semantics;
    args.device = device();
  });
  return {.buffer = {*host_, told.buffer}, .done = {*host_, told.done_with_host_buffer}};
}

HostArray Client::get(PJRT_Buffer* buffer) const {
  HostArray array;
  array.type =
      host_->call<PJRT_Buffer_ElementType_Args>([&](auto& args) { args.buffer = buffer; }).type;
  const auto dims =
      host_->call<PJRT_Buffer_Dimensions_Args>([&](auto& args) { args.buffer = buffer; });
  array.dims.assign(dims.dims, dims.dims + dims.num_dims);
  std::vector<int64_t> order(array.dims.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(order.size() - 1 - i);
  auto layout = make<PJRT_Buffer_MemoryLayout>();
  layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  layout.tiled = make<PJRT_Buffer_MemoryLayout_Tiled>();
  layout.tiled.minor_to_major = order.data();
  layout.tiled.minor_to_major_size = order.size();
  const size_t size = host_
                          ->call<PJRT_Buffer_ToHostBuffer_Args>([&](auto& args) {
                            args.src = buffer;
                            args.host_layout = &layout;
                          })
                          .dst_size;
  array.bytes.resize(size);
  std::byte none{};
  const auto copied = host_->call<PJRT_Buffer_ToHostBuffer_Args>([&](auto& args) {
    args.src = buffer;
    args.host_layout = &layout;
    args.dst = size == 0 ? &none : array.bytes.data();
    args.dst_size = size;
  });
  host_->await(copied.event, "PJRT_Buffer_ToHostBuffer");
  return array;
}

std::vector<float> Client::get_floats(PJRT_Buffer* buffer) const {
  const HostArray array = get(buffer);
  expect(array.type == PJRT_Buffer_Type_F32, "type of a result, got {}, expected F32",
         static_cast<int>(array.type));
  const auto values = array.as<float>();
  return {values.begin(), values.end()};
}

Loaded Client::compile(std::string_view text,
                       const pjrt_abi::CompileOptions& compile_options) const {
  const std::string options = pjrt_abi::encode(compile_options);
  auto program = make<PJRT_Program>();
  program.code = const_cast<char*>(text.data());
  program.code_size = text.size();
  program.format = "mlir";
  program.format_size = 4;
  const auto told = host_->call<PJRT_Client_Compile_Args>([&](auto& args) {
    args.client = client_;
    args.program = &program;
    args.compile_options = options.data();
    args.compile_options_size = options.size();
  });
  expect(told.executable != nullptr, "PJRT_Client_Compile gave no executable");
  return {*host_, told.executable};
}

Executable Client::executable(const Loaded& loaded) const {
  return {*host_, host_
                      ->call<PJRT_LoadedExecutable_GetExecutable_Args>(
                          [&](auto& args) { args.loaded_executable = loaded.get(); })
                      .executable};
}

PJRT_Error* Client::execute(const Loaded& loaded, std::span<PJRT_Buffer* const> arguments,
                            std::span<PJRT_Buffer*> results, PJRT_Event** event,
                            const RunOptions& run) const {
  auto options = make<PJRT_ExecuteOptions>();
  options.non_donatable_input_indices = run.kept.data();
  options.num_non_donatable_input_indices = run.kept.size();
  PJRT_Buffer* const* const list = arguments.data();
  PJRT_Buffer** const outputs = results.data();
  auto args = make<PJRT_LoadedExecutable_Execute_Args>();
  args.executable = loaded.get();
  args.options = &options;
  args.argument_lists = &list;
  args.num_devices = 1;
  args.num_args = arguments.size();
  args.output_lists = &outputs;
  args.device_complete_events = event;
  args.execute_device = run.device;
  return host_->start(args);
}

std::vector<Buffer> Client::run(const Loaded& loaded, std::span<PJRT_Buffer* const> arguments,
                                size_t num_results, const RunOptions& options) const {
  std::vector<PJRT_Buffer*> results(num_results, nullptr);
  PJRT_Event* event = nullptr;
  if (PJRT_Error* const error =
          execute(loaded, arguments, results, options.waits ? &event : nullptr, options))
    fail("PJRT_LoadedExecutable_Execute: {}", host_->take(error).message);
  std::vector<Buffer> owned;
  for (PJRT_Buffer* result : results) owned.emplace_back(*host_, result);
  if (options.waits) host_->await(event, "the event of an execution");
  for (PJRT_Buffer* result : results) expect(result != nullptr, "a result is NULL");
  return owned;
}

std::vector<std::vector<Buffer>> Client::run_on_all(
    const Loaded& loaded, const std::vector<std::vector<PJRT_Buffer*>>& arguments,
    size_t num_results, bool waits) const {
  const size_t count = arguments.size();
  std::vector<PJRT_Buffer* const*> lists;
  std::vector<std::vector<PJRT_Buffer*>> results(count, std::vector<PJRT_Buffer*>(num_results));
  std::vector<PJRT_Buffer**> outputs;
  std::vector<PJRT_Event*> events(count, nullptr);
  for (size_t d = 0; d < count; ++d) {
    lists.push_back(arguments[d].data());
    outputs.push_back(results[d].data());
  }
  auto options = make<PJRT_ExecuteOptions>();
  host_->call<PJRT_LoadedExecutable_Execute_Args>([&](auto& args) {
    args.executable = loaded.get();
    args.options = &options;
    args.argument_lists = lists.data();
    args.num_devices = count;
    args.num_args = arguments[0].size();
    args.output_lists = outputs.data();
    args.device_complete_events = waits ? events.data() : nullptr;
  });
  std::vector<std::vector<Buffer>> owned(count);
  for (size_t d = 0; d < count; ++d) {
    for (PJRT_Buffer* result : results[d]) {
      expect(result != nullptr, "a result of device {} is NULL", d);
      owned[d].emplace_back(*host_, result);
    }
    if (waits) host_->await(events[d], "the event of a device");
  }
  return owned;
}

PluginError Client::refuses_to_run(std::string_view why, const Loaded& loaded,
                                   std::span<PJRT_Buffer* const> arguments,
                                   size_t num_results) const {
  std::vector<PJRT_Buffer*> results(num_results, nullptr);
  PJRT_Event* event = nullptr;
  PJRT_Error* const error = execute(loaded, arguments, results, &event);
  PluginError told;
  if (error != nullptr) {
    told = host_->take(error);
  } else {
    std::vector<Buffer> owned;
    for (PJRT_Buffer* result : results) owned.emplace_back(*host_, result);
    told = host_->wait(event);  // a plugin that runs later may say it later
  }
  expect(told.code != PJRT_Error_Code_OK, "PJRT_LoadedExecutable_Execute took {}", why);
  expect(!told.message.empty(), "the error about {} has no message", why);
  return told;
}

}  // namespace systole::app::conform
