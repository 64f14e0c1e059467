// Checks of what Systole's plugin has beside the C API: its client options, the environment, and
// the functions that are asked while programs are split. Other plugins lack them.
#include <dlfcn.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "apps/systole/conform/host.h"
#include "systole/pjrt_abi/compile_options.h"
#include "systole/pjrt_abi/op_sharding.h"
#include "systole/runtime/ffi/ffi_c_api.h"

namespace systole::app::conform {
namespace {

// -- Client options and the environment.

// Errors: Absent if the plugin is not Systole's.
void expect_systole(const Host& host) {
  const Client client(host);
  const auto told =
      host.call<PJRT_Client_PlatformName_Args>([&](auto& args) { args.client = client.get(); });
  if (text_of(told.platform_name, told.platform_name_size) != "systole")
    throw Absent{"what only Systole's plugin has"};
}

// The same plugin with these client options.
Host with_options(const Host& host, std::vector<ClientOption> options) {
  return Host({.plugin = host.setup().plugin, .options = std::move(options), .topology = ""});
}

// Sets a variable of the environment while it lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

std::string kind_of(const Host& host, PJRT_Device* device) {
  PJRT_DeviceDescription* const description =
      host.call<PJRT_Device_GetDescription_Args>([&](auto& args) { args.device = device; })
          .device_description;
  const auto told = host.call<PJRT_DeviceDescription_Kind_Args>(
      [&](auto& args) { args.device_description = description; });
  return text_of(told.device_kind, told.device_kind_size);
}

int64_t memory_of(const Host& host, PJRT_Device* device) {
  const auto told =
      host.call<PJRT_Device_MemoryStats_Args>([&](auto& args) { args.device = device; });
  return told.bytes_limit_is_set ? told.bytes_limit : 0;
}

// Expects a client of so many cores of this kind and memory. "", 0: of any.
void expect_cores(const Host& host, size_t count, std::string_view kind, int64_t memory,
                  std::string_view asked) {
  const Client client(host);
  const auto devices = client.devices();
  expect(devices.size() == count, "number of cores of {}, got {}, expected {}", asked,
         devices.size(), count);
  for (PJRT_Device* const device : devices) {
    expect(kind.empty() || kind_of(host, device) == kind, "kind of a core of {}, got '{}'", asked,
           kind_of(host, device));
    expect(memory == 0 || memory_of(host, device) == memory, "memory of a core of {}, got {}",
           asked, memory_of(host, device));
  }
}

// Expects an error about a client with these options that says `why`.
void expect_refused(const Host& host, const std::vector<ClientOption>& options,
                    std::string_view why) {
  const Host wrong = with_options(host, options);
  std::string message;
  try {
    const Client client(wrong);
  } catch (const Failure& refused) {
    message = refused.what;
  }
  expect(!message.empty(), "a client was made, expected an error about '{}'", why);
  expect(message.find(why) != std::string::npos, "error of a client, got '{}', expected '{}' in it",
         message, why);
}

constexpr int64_t kV2 = 8'034'172'928;
constexpr int64_t kV3 = 16'624'107'520;

void check_boards(const Host& host) {
  expect_systole(host);
  expect_cores(with_options(host, {{"tpu", "v2-8"}}), 8, "TPU v2", kV2, "v2-8");
  expect_cores(with_options(host, {{"tpu", "v3-8"}}), 8, "TPU v3", kV3, "v3-8");
  expect_cores(with_options(host, {{"tpu", "v3-8"}, {"cores", "8"}}), 8, "TPU v3", kV3, "v3-8");
  expect_cores(with_options(host, {{"tpu", "v3-8"}, {"core_memory", "1000000000"}}), 8, "TPU v3",
               1'000'000'000, "v3-8 with memory of its own");
  expect_cores(with_options(host, {{"tpu", "v2-8"}, {"core_kind", "mine"}}), 8, "mine", kV2,
               "v2-8 with a kind of its own");
  expect_refused(host, {{"tpu", "v9-9"}}, "client option 'tpu', got 'v9-9', expected one of v2-8");
  expect_refused(host, {{"tpu", "v3-8"}, {"cores", "5"}}, "cores, got 5");
}

void check_options(const Host& host) {
  expect_systole(host);
  expect_cores(with_options(host, {{"cores", "3"}}), 3, "", 0, "cores=3");
  expect_cores(with_options(host, {{"cores", "2"}, {"backend", "reference"}}), 2, "", 0,
               "backend=reference");
  expect_cores(with_options(host, {{"cores", "2"}, {"node_id", "0"}, {"platform_name", "x"}}), 2,
               "", 0, "options that frameworks pass");
  expect_refused(host, {{"cores", "many"}}, "cores");
  expect_refused(host, {{"backend", "none"}}, "got 'none', expected one of");
  expect_refused(host, {{"colour", "red"}}, "colour");
  expect_refused(host, {{"num_nodes", "two"}}, "num_nodes");
}

// A client is told of its devices by its options, or else by the environment.
void check_environment(const Host& host) {
  expect_systole(host);
  const Host plain = with_options(host, {});
  {
    const Variable cores("SYSTOLE_CORES", "3");
    expect_cores(plain, 3, "", 0, "SYSTOLE_CORES=3");
    expect_cores(with_options(host, {{"cores", "2"}}), 2, "", 0, "cores=2");
    expect_cores(with_options(host, {{"tpu", "v2-8"}}), 8, "TPU v2", kV2, "v2-8");
  }
  {
    const Variable tpu("SYSTOLE_TPU", "v2-8");
    expect_cores(plain, 8, "TPU v2", kV2, "SYSTOLE_TPU=v2-8");
    const Variable cores("SYSTOLE_CORES", "5");
    expect_refused(host, {}, "cores, got 5 with SYSTOLE_TPU=v2-8");
  }
  {
    const Variable tpu("SYSTOLE_TPU", "v9-9");
    expect_refused(host, {}, "SYSTOLE_TPU, got 'v9-9'");
  }
  for (const char* const value : {"0", "-1", "four", "4x"}) {
    const Variable cores("SYSTOLE_CORES", value);
    expect_refused(host, {}, fmt::format("SYSTOLE_CORES, got '{}'", value));
  }
  {
    const Variable options("SYSTOLE_PJRT_OPTIONS", "backend=reference,cores=3");
    expect_cores(plain, 3, "", 0, "SYSTOLE_PJRT_OPTIONS");
    expect_cores(with_options(host, {{"tpu", "v3-8"}}), 8, "TPU v3", kV3, "v3-8");
    const Variable cores("SYSTOLE_CORES", "2");
    expect_cores(plain, 2, "", 0, "SYSTOLE_CORES=2");
  }
  {
    const Variable options("SYSTOLE_PJRT_OPTIONS", "tpu=v2-8");
    expect_cores(plain, 8, "TPU v2", kV2, "SYSTOLE_PJRT_OPTIONS");
  }
  const Variable options("SYSTOLE_PJRT_OPTIONS", "cores");
  expect_refused(host, {}, "SYSTOLE_PJRT_OPTIONS: option, got 'cores'");
}

// A topology's name may be the text of client options.
void check_topology_name(const Host& host) {
  expect_systole(host);
  constexpr std::string_view kName = "backend=cpu,cores=3";
  const Topology topology(host, host.call<PJRT_TopologyDescription_Create_Args>([&](auto& args) {
                                      args.topology_name = kName.data();
                                      args.topology_name_size = kName.size();
                                    })
                                    .topology);
  const auto told = host.call<PJRT_TopologyDescription_GetDeviceDescriptions_Args>(
      [&](auto& args) { args.topology = topology.get(); });
  expect(told.num_descriptions == 3, "devices of the topology '{}', got {}", kName,
         told.num_descriptions);
}

void check_shape_spec(const Host& host) {
  expect_systole(host);
  const Client client(host);
  const int64_t count = 4;
  auto spec = make<PJRT_ShapeSpec>();
  spec.struct_size = sizeof(size_t);
  spec.dims = &count;
  spec.num_dims = 1;
  spec.element_type = PJRT_Buffer_Type_F32;
  PJRT_Memory* const memory =
      host.call<PJRT_Device_DefaultMemory_Args>([&](auto& args) { args.device = client.device(); })
          .memory;
  host.refuses<PJRT_Client_CreateBuffersForAsyncHostToDevice_Args>(
      "a PJRT_ShapeSpec that is too small", [&](auto& args) {
        args.client = client.get();
        args.shape_specs = &spec;
        args.num_shape_specs = 1;
        args.memory = memory;
      });
}

void check_small_programs(const Host& host) {
  expect_systole(host);
  const Client client(host);
  const std::string options = pjrt_abi::encode(pjrt_abi::CompileOptions{});
  auto program = make<PJRT_Program>();
  program.struct_size = sizeof(size_t);
  program.code = const_cast<char*>(kSum.data());
  program.code_size = kSum.size();
  program.format = "mlir";
  program.format_size = 4;
  host.refuses<PJRT_Client_Compile_Args>("a PJRT_Program that is too small", [&](auto& args) {
    args.client = client.get();
    args.program = &program;
    args.compile_options = options.data();
    args.compile_options_size = options.size();
  });
  PJRT_TopologyDescription* const topology =
      host.call<PJRT_Client_TopologyDescription_Args>(
              [&](auto& args) { args.client = client.get(); })
          .topology;
  host.refuses<PJRT_Compile_Args>("a PJRT_Program that is too small", [&](auto& args) {
    args.topology = topology;
    args.program = &program;
    args.compile_options = options.data();
    args.compile_options_size = options.size();
  });
  const Loaded loaded = client.compile(kSum);
  const Buffer x = client.put(floats({1, 2, 3, 4}));
  PJRT_Buffer* const arguments[] = {x.get(), x.get()};
  PJRT_Buffer* const* const list = arguments;
  PJRT_Buffer* results[1] = {};
  PJRT_Buffer** const outputs = results;
  auto run = make<PJRT_ExecuteOptions>();
  run.struct_size = sizeof(size_t);
  host.refuses<PJRT_LoadedExecutable_Execute_Args>("PJRT_ExecuteOptions that are too small",
                                                   [&](auto& args) {
                                                     args.executable = loaded.get();
                                                     args.options = &run;
                                                     args.argument_lists = &list;
                                                     args.num_devices = 1;
                                                     args.num_args = 2;
                                                     args.output_lists = &outputs;
                                                   });
}

// The product of three matrices needs memory for that of two.
constexpr std::string_view kProducts = R"(module @products {
  func.func public @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
    %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %1 = stablehlo.dot_general %0, %x, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    return %1 : tensor<64x64xf32>
  }
})";

void check_sums_of_memory(const Host& host) {
  expect_systole(host);
  const Client client(host);
  const Executable program = client.executable(client.compile(kProducts));
  const auto told = host.call<PJRT_Executable_GetCompiledMemoryStats_Args>(
      [&](auto& args) { args.executable = program.get(); });
  constexpr int64_t kMatrix = 64 * 64 * sizeof(float);
  expect(told.argument_size_in_bytes == kMatrix && told.output_size_in_bytes == kMatrix,
         "bytes of an argument and a result, got {} and {}, expected {}",
         told.argument_size_in_bytes, told.output_size_in_bytes, kMatrix);
  expect(told.temp_size_in_bytes >= kMatrix, "bytes of a product, got {}, expected {} or more",
         told.temp_size_in_bytes, kMatrix);
  expect(told.peak_memory_in_bytes == 2 * kMatrix + told.temp_size_in_bytes,
         "most bytes that are in use, got {}", told.peak_memory_in_bytes);
  expect(told.total_size_in_bytes == told.peak_memory_in_bytes + told.generated_code_size_in_bytes,
         "bytes with those of the code, got {}", told.total_size_in_bytes);
}

// The statistics are those of one device.
void check_memory_of_replicas(const Host& host) {
  expect_systole(host);
  const Client client(host);
  if (client.devices().size() < 2) throw Absent{"a second device"};
  const Executable program = client.executable(client.compile(kProducts, {.num_replicas = 2}));
  const auto told = host.call<PJRT_Executable_GetCompiledMemoryStats_Args>(
      [&](auto& args) { args.executable = program.get(); });
  constexpr int64_t kMatrix = 64 * 64 * sizeof(float);
  expect(told.argument_size_in_bytes == kMatrix && told.output_size_in_bytes == kMatrix,
         "bytes of an argument and a result of a replica, got {} and {}, expected {}",
         told.argument_size_in_bytes, told.output_size_in_bytes, kMatrix);
}

void check_memory_of_parts(const Host& host) {
  expect_systole(host);
  const Client client(host);
  if (client.devices().size() < 2) throw Absent{"a second device"};
  const Executable program = client.executable(client.compile(
      R"(module @parts {
  func.func public @main(%a: tensor<4x2xf32> {mhlo.sharding = "{devices=[2,1]<=[2]}"}) -> (tensor<4x2xf32> {mhlo.sharding = "{devices=[2,1]<=[2]}"}) {
    %0 = stablehlo.add %a, %a : tensor<4x2xf32>
    return %0 : tensor<4x2xf32>
  }
})",
      {.num_partitions = 2, .use_spmd_partitioning = true}));
  const auto told = host.call<PJRT_Executable_GetCompiledMemoryStats_Args>(
      [&](auto& args) { args.executable = program.get(); });
  expect(told.argument_size_in_bytes == 16 && told.output_size_in_bytes == 16,
         "bytes of the parts of an argument and a result, got {} and {}, expected 16",
         told.argument_size_in_bytes, told.output_size_in_bytes);
}

// -- Functions that are asked while programs are split.

using Inspector = const char* (*)(const char* key, size_t key_size, const char* sharding,
                                  size_t sharding_size);
using Partitioner = const char* (*)(const char* request, size_t request_size, const char** reply,
                                    size_t* reply_size);

// Returns a function of the plugin's own. Errors: Absent if it has none of this name.
template <class Function>
Function own_function(const Host& host, const char* name) {
  void* const library = ::dlopen(host.setup().plugin.c_str(), RTLD_NOW | RTLD_NOLOAD);
  const auto function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr) throw Absent{name};
  return function;
}

// Gives the plugin a function by one of its own functions.
template <class Function>
void give(const Host& host, const char* name, Function function) {
  own_function<void (*)(Function)>(host, name)(function);
}

// The value 3, of one float.
XLA_FFI_Error* three(XLA_FFI_CallFrame* frame) {
  if (frame->extension_start != nullptr) {
    auto* const asked = reinterpret_cast<XLA_FFI_Metadata_Extension*>(frame->extension_start);
    asked->metadata->api_version.major_version = 0;
    asked->metadata->api_version.minor_version = 1;
    return nullptr;
  }
  const auto& y = *static_cast<const XLA_FFI_Buffer*>(frame->rets.rets[0]);
  *static_cast<float*>(y.data) = 3;
  return nullptr;
}

void check_named_functions(const Host& host) {
  using Register = const char* (*)(const char*, size_t, const XLA_FFI_Handler_Bundle*);
  const auto add = own_function<Register>(host, "systole_register_ffi_handler");
  constexpr std::string_view kName = "conform.three";
  const XLA_FFI_Handler_Bundle none{};
  const char* const message = add(kName.data(), kName.size(), &none);
  expect(message != nullptr && std::string_view(message).find(kName) != std::string_view::npos,
         "a function that is none was registered");
  const XLA_FFI_Handler_Bundle bundle{
      .instantiate = nullptr, .prepare = nullptr, .initialize = nullptr, .execute = three};
  expect(add(kName.data(), kName.size(), &bundle) == nullptr, "a function was not registered");
  const Client client(host);
  const Loaded loaded = client.compile(R"(module @three {
  func.func public @main() -> tensor<1xf32> {
    %0 = stablehlo.custom_call @conform.three() {api_version = 4 : i32} : () -> tensor<1xf32>
    return %0 : tensor<1xf32>
  }
})");
  const std::vector<Buffer> results = client.run(loaded, {});
  expect(client.get_floats(results[0].get()) == std::vector<float>({3}),
         "result of a function that is registered by name");
}

Loaded compile_for_two(const Client& client, std::string_view text) {
  if (client.devices().size() < 2) throw Absent{"a second device"};
  return client.compile(text, {.num_partitions = 2, .use_spmd_partitioning = true});
}

std::string digits_of(const pjrt_abi::OpSharding& sharding) {
  std::string digits;
  for (const unsigned char byte : pjrt_abi::encode(sharding)) digits += fmt::format("{:02x}", byte);
  return digits;
}

// What the plugin said to the functions below, and what the next call of one says.
struct Talk {
  std::string key;
  std::string sharding;
  std::string request;
  std::string reply;
  const char* error = nullptr;
};
Talk& talk() {
  static Talk all;
  return all;
}

constexpr std::string_view kInspected = R"(module @inspected {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%a: tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> tensor<4x2xf32> {
    %0 = stablehlo.add %a, %a : tensor<4x2xf32>
    %1 = stablehlo.custom_call @InspectSharding(%0) {has_side_effect = true, backend_config = "7"} : (tensor<4x2xf32>) -> tensor<4x2xf32>
    return %0 : tensor<4x2xf32>
  }
})";

// Expects that a program is not compiled, and that the error says `why`.
void expect_not_compiled(const Client& client, std::string_view text, std::string_view why) {
  try {
    compile_for_two(client, text);
  } catch (const Failure& refused) {
    expect(refused.what.find(why) != std::string::npos,
           "error of a program, got '{}', expected '{}' in it", refused.what, why);
    return;
  }
  fail("a program was compiled, expected an error about '{}'", why);
}

void check_inspection(const Host& host) {
  const Client client(host);
  talk() = {};
  give<Inspector>(host, "systole_inspect_shardings", nullptr);
  compile_for_two(client, kInspected);
  give<Inspector>(host, "systole_inspect_shardings",
                  [](const char* key, size_t key_size, const char* sharding, size_t size) {
                    talk().key = text_of(key, key_size);
                    talk().sharding = text_of(sharding, size);
                    return talk().error;
                  });
  compile_for_two(client, kInspected);
  expect(talk().key == "7", "key of a sharding that is inspected, got '{}'", talk().key);
  expect(
      talk().sharding == pjrt_abi::encode(pjrt_abi::OpSharding{.tiles = {1, 2}, .devices = {0, 1}}),
      "a sharding by columns that is inspected");
  talk().error = "the inspector fails";
  expect_not_compiled(client, kInspected, talk().error);
  give<Inspector>(host, "systole_inspect_shardings", nullptr);
}

// The sums of columns, of which each device has one.
constexpr std::string_view kCustom = R"(module @custom {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%a: tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = stablehlo.custom_call @CustomSPMDPartitioning(%a) {backend_config = "9", sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([j]) {i=4, j=2} reduction={i}, custom>} : (tensor<4x2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
})";
constexpr std::string_view kCustomPart = R"({devices=[1,2]<=[2]}
{devices=[2]<=[2]}
module @part {
  func.func @main(%a: tensor<4x1xf32>) -> tensor<1xf32> {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4x1xf32>, tensor<f32>) -> tensor<1xf32>
    return %0 : tensor<1xf32>
  }
})";

void check_custom_partitions(const Host& host) {
  const Client client(host);
  talk() = {};
  give<Partitioner>(host, "systole_partition_custom_calls", nullptr);
  bool is_refused = false;
  try {
    compile_for_two(client, kCustom);
  } catch (const Absent&) {  // UNIMPLEMENTED
    is_refused = true;
  }
  expect(is_refused, "a call that its owner splits was compiled without the owner");
  give<Partitioner>(host, "systole_partition_custom_calls",
                    [](const char* request, size_t size, const char** reply, size_t* reply_size) {
                      talk().request = text_of(request, size);
                      *reply = talk().reply.data();
                      *reply_size = talk().reply.size();
                      return talk().error;
                    });
  talk().reply = kCustomPart;
  const Loaded loaded = compile_for_two(client, kCustom);
  const std::string expected = fmt::format(
      R"({{"key": "9", "operands": [{{"dtype": "float32", "dims": [4, 2], "sharding": "{}"}}], "results": [{{"dtype": "float32", "dims": [2], "sharding": "{}"}}]}})",
      digits_of({.tiles = {1, 2}, .devices = {0, 1}}),
      digits_of({.tiles = {2}, .devices = {0, 1}}));
  expect(talk().request == expected, "request for a program of parts, got '{}', expected '{}'",
         talk().request, expected);
  const auto devices = client.devices();
  const Buffer left = client.put(matrix(4, 1, {1, 2, 3, 4}), devices[0]);
  const Buffer right = client.put(matrix(4, 1, {10, 20, 30, 40}), devices[1]);
  const auto got = client.run_on_all(loaded, {{left.get()}, {right.get()}});
  expect(client.get_floats(got[0][0].get()) == std::vector<float>({10}), "sum of the left column");
  expect(client.get_floats(got[1][0].get()) == std::vector<float>({100}),
         "sum of the right column");
  talk().error = "the partitioner fails";
  expect_not_compiled(client, kCustom, talk().error);
  talk().error = nullptr;
  talk().reply = "no sharding";
  expect_not_compiled(client, kCustom, "");
  give<Partitioner>(host, "systole_partition_custom_calls", nullptr);
}

constexpr Check kChecks[] = {
    {"client options of Systole: boards", "PJRT_Client_Create", check_boards},
    {"client options of Systole", "PJRT_Client_Create", check_options},
    {"the environment of Systole", "PJRT_Client_Create", check_environment},
    {"topologies of Systole by name", "PJRT_TopologyDescription_Create", check_topology_name},
    {"a description of an array that is too small is refused",
     "PJRT_Client_CreateBuffersForAsyncHostToDevice", check_shape_spec},
    {"programs and options that are too small are refused",
     "PJRT_Client_Compile PJRT_Compile PJRT_LoadedExecutable_Execute", check_small_programs},
    {"the memory plan of products", "PJRT_Executable_GetCompiledMemoryStats", check_sums_of_memory},
    {"the memory plan of replicas", "PJRT_Executable_GetCompiledMemoryStats",
     check_memory_of_replicas},
    {"the memory plan of a device of two", "PJRT_Executable_GetCompiledMemoryStats",
     check_memory_of_parts},
    {"functions that are registered by name", "PJRT_LoadedExecutable_Execute",
     check_named_functions},
    {"shardings that are inspected", "PJRT_Client_Compile", check_inspection},
    {"calls that their owners split", "PJRT_Client_Compile PJRT_LoadedExecutable_Execute",
     check_custom_partitions},
};

}  // namespace

std::span<const Check> own_checks() { return kChecks; }

}  // namespace systole::app::conform
