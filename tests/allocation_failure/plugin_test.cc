// The PJRT plugin, through its C API, while allocations fail: each function returns an error or
// does its work.
#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string_view>

#include "systole/pjrt_abi/pjrt_c_api.h"
#include "tests/allocation_failure/failing_malloc.h"

namespace systole::testing {
namespace {

const PJRT_Api& plugin() {
  static const PJRT_Api* const api = [] {
    void* const library = ::dlopen(SYSTOLE_PJRT_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(::dlerror());  // NOLINT(concurrency-mt-unsafe)
    using GetApi = const PJRT_Api* (*)();
    return reinterpret_cast<GetApi>(::dlsym(library, "GetPjrtApi"))();
  }();
  return *api;
}

class Refused : public std::bad_alloc {};

// Throws for an error, after having read it.
void ok(PJRT_Error* error) {
  if (error == nullptr) return;
  PJRT_Error_Message_Args message{.struct_size = PJRT_Error_Message_Args_STRUCT_SIZE,
                                  .extension_start = nullptr,
                                  .error = error};
  plugin().PJRT_Error_Message(&message);
  const bool empty = message.message == nullptr || message.message_size == 0;
  PJRT_Error_Destroy_Args destroy{.struct_size = PJRT_Error_Destroy_Args_STRUCT_SIZE,
                                  .extension_start = nullptr,
                                  .error = error};
  plugin().PJRT_Error_Destroy(&destroy);
  if (empty) throw std::logic_error("an error without a message");
  throw Refused();
}

// Calls `function` with the arguments, whose size it sets.
template <class Args>
Args& call(PJRT_Error* (*function)(Args*), Args& args) {
  args.struct_size = sizeof(Args);
  ok(function(&args));
  return args;
}

// An object of the plugin and the function that destroys it.
template <class Object, class Args>
class Owned {
 public:
  Owned(Object* object, PJRT_Error* (*destroy)(Args*), Object* Args::*field)
      : object_(object), destroy_(destroy), field_(field) {}
  ~Owned() {
    Args args{};
    args.struct_size = sizeof(Args);
    args.*field_ = object_;
    if (PJRT_Error* const error = destroy_(&args); error != nullptr) {
      ADD_FAILURE() << "an object cannot be destroyed";
    }
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  Object* get() const { return object_; }

 private:
  Object* object_;
  PJRT_Error* (*destroy_)(Args*);
  Object* Args::*field_;
};

constexpr std::string_view kProgram = R"(
func.func public @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %y : tensor<4xf32>
  %1 = stablehlo.tanh %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}
)";
// CompileOptionsProto of one device.
constexpr std::string_view kOneDevice =
    "\x1A\x0F\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01\x20\x01\x28\x01";

void await(PJRT_Event* event) {
  const Owned<PJRT_Event, PJRT_Event_Destroy_Args> owned(event, plugin().PJRT_Event_Destroy,
                                                         &PJRT_Event_Destroy_Args::event);
  PJRT_Event_Await_Args args{};
  args.event = event;
  call(plugin().PJRT_Event_Await, args);
}

using Buffer = Owned<PJRT_Buffer, PJRT_Buffer_Destroy_Args>;

Buffer owned(PJRT_Buffer* buffer) {
  return {buffer, plugin().PJRT_Buffer_Destroy, &PJRT_Buffer_Destroy_Args::buffer};
}

class Client {
 public:
  explicit Client(const std::string& backend)
      : client_(create(backend), plugin().PJRT_Client_Destroy, &PJRT_Client_Destroy_Args::client) {
    PJRT_Client_Devices_Args devices{};
    devices.client = client_.get();
    device_ = call(plugin().PJRT_Client_Devices, devices).devices[0];
  }

  // Compiles, and the executable is destroyed.
  void compile() { const auto executable = compiled(); }

  void describe() {
    const auto executable = compiled();
    PJRT_LoadedExecutable_GetExecutable_Args get{};
    get.loaded_executable = executable.get();
    const Owned<PJRT_Executable, PJRT_Executable_Destroy_Args> owned(
        call(plugin().PJRT_LoadedExecutable_GetExecutable, get).executable,
        plugin().PJRT_Executable_Destroy, &PJRT_Executable_Destroy_Args::executable);
    PJRT_Executable_OutputElementTypes_Args types{};
    types.executable = owned.get();
    call(plugin().PJRT_Executable_OutputElementTypes, types);
    PJRT_Executable_Serialize_Args serialize{};
    serialize.executable = owned.get();
    call(plugin().PJRT_Executable_Serialize, serialize);
    serialize.serialized_executable_deleter(serialize.serialized_executable);
  }

  void compile_once() {
    executable_.emplace(compile_program(), plugin().PJRT_LoadedExecutable_Destroy,
                        &PJRT_LoadedExecutable_Destroy_Args::executable);
  }

  void run() {
    const Buffer x = put();
    const Buffer y = put();
    PJRT_Buffer* const arguments[] = {x.get(), y.get()};
    PJRT_Buffer* const* const lists[] = {arguments};
    PJRT_Buffer* result = nullptr;
    PJRT_Buffer** const outputs[] = {&result};
    PJRT_Event* event = nullptr;
    PJRT_ExecuteOptions options{};
    options.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE;
    PJRT_LoadedExecutable_Execute_Args args{};
    args.executable = executable_->get();
    args.options = &options;
    args.argument_lists = lists;
    args.num_devices = 1;
    args.num_args = 2;
    args.output_lists = outputs;
    args.device_complete_events = &event;
    call(plugin().PJRT_LoadedExecutable_Execute, args);
    const Buffer computed = owned(result);
    await(event);
    float values[4] = {};
    PJRT_Buffer_ToHostBuffer_Args get{};
    get.src = computed.get();
    get.dst = values;
    get.dst_size = sizeof(values);
    await(call(plugin().PJRT_Buffer_ToHostBuffer, get).event);
    if (values[0] != values[3] || values[0] < 0.9F) throw std::logic_error("a wrong result");
  }

 private:
  using Executable = Owned<PJRT_LoadedExecutable, PJRT_LoadedExecutable_Destroy_Args>;

  static PJRT_Client* create(const std::string& backend) {
    PJRT_NamedValue option{};
    option.struct_size = PJRT_NamedValue_STRUCT_SIZE;
    option.name = "backend";
    option.name_size = std::strlen(option.name);
    option.type = PJRT_NamedValue_kString;
    option.string_value = backend.c_str();
    option.value_size = backend.size();
    PJRT_Client_Create_Args args{};
    args.create_options = &option;
    args.num_options = 1;
    return call(plugin().PJRT_Client_Create, args).client;
  }

  PJRT_LoadedExecutable* compile_program() {
    std::string text(kProgram);
    PJRT_Program program{};
    program.struct_size = PJRT_Program_STRUCT_SIZE;
    program.code = text.data();
    program.code_size = text.size();
    program.format = "mlir";
    program.format_size = 4;
    PJRT_Client_Compile_Args args{};
    args.client = client_.get();
    args.program = &program;
    args.compile_options = kOneDevice.data();
    args.compile_options_size = kOneDevice.size();
    return call(plugin().PJRT_Client_Compile, args).executable;
  }

  Executable compiled() {
    return {compile_program(), plugin().PJRT_LoadedExecutable_Destroy,
            &PJRT_LoadedExecutable_Destroy_Args::executable};
  }

  Buffer put() {
    const float values[] = {1, 1, 1, 1};
    const int64_t dims[] = {4};
    PJRT_Client_BufferFromHostBuffer_Args args{};
    args.client = client_.get();
    args.data = values;
    args.type = PJRT_Buffer_Type_F32;
    args.dims = dims;
    args.num_dims = 1;
    args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
    args.device = device_;
    call(plugin().PJRT_Client_BufferFromHostBuffer, args);
    PJRT_Event_Destroy_Args destroy{};
    destroy.event = args.done_with_host_buffer;
    call(plugin().PJRT_Event_Destroy, destroy);
    return owned(args.buffer);
  }

  Owned<PJRT_Client, PJRT_Client_Destroy_Args> client_;
  PJRT_Device* device_ = nullptr;
  std::optional<Executable> executable_;
};

void expect_errors_only(const AllocationFailures& failures) {
  fmt::print("{} allocations, {} runs\n", failures.allocations, failures.runs);
  for (const std::string& problem : failures.problems) ADD_FAILURE() << problem;
}

// Makes the thread-local data of the plugin and its libraries. glibc ends a process that has no
// memory for them.
void make_thread_data() {
  EXPECT_THROW(Client("no such backend"), Refused);
  for (const char* backend : {"reference", "cpu"}) {
    Client client(backend);
    client.describe();
    client.compile_once();
    client.run();
  }
}

TEST(PluginWithoutMemory, CreatesClients) {
  make_thread_data();
  expect_errors_only(fail_allocations([] { Client("reference"); }));
}

TEST(PluginWithoutMemory, Compiles) {
  make_thread_data();
  Client client("reference");
  expect_errors_only(fail_allocations([&] { client.compile(); }));
  expect_errors_only(fail_allocations([&] { client.describe(); }));
}

TEST(PluginWithoutMemory, Runs) {
  make_thread_data();
  for (const char* backend : {"reference", "cpu"}) {
    Client client(backend);
    client.compile_once();
    expect_errors_only(fail_allocations([&] { client.run(); }));
  }
}

}  // namespace
}  // namespace systole::testing
