// Checks of compiling, of what an executable tells of itself, and of saved executables.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "apps/systole/conform/host.h"
#include "systole/pjrt_abi/compile_options.h"
#include "systole/stablehlo/bytecode/bytecode.h"
#include "systole/stablehlo/text/text.h"

namespace systole::app::conform {
namespace {

constexpr std::string_view kTwoResults = R"(module @two {
  func.func public @main(%x: tensor<2x3xf32>) -> (tensor<3x2xf32>, tensor<i32>) {
    %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %1 = stablehlo.constant dense<7> : tensor<i32>
    return %0, %1 : tensor<3x2xf32>, tensor<i32>
  }
})";

// Expects an error of PJRT_Client_Compile.
PluginError refuses_to_compile(const Client& client, std::string_view why, std::string_view code,
                               std::string_view format, std::string_view options) {
  auto program = make<PJRT_Program>();
  program.code = const_cast<char*>(code.data());
  program.code_size = code.size();
  program.format = format.data();
  program.format_size = format.size();
  return client.host().refuses<PJRT_Client_Compile_Args>(why, [&](auto& args) {
    args.client = client.get();
    args.program = &program;
    args.compile_options = options.data();
    args.compile_options_size = options.size();
  });
}

std::vector<float> run_sum(const Client& client, const Loaded& sum) {
  const Buffer x = client.put(floats({1, 2, 3, 4}));
  const Buffer y = client.put(floats({10, 20, 30, 40}));
  PJRT_Buffer* const arguments[] = {x.get(), y.get()};
  return client.get_floats(client.run(sum, arguments)[0].get());
}
const std::vector<float> kSums = {11, 22, 33, 44};

void check_text(const Host& host) {
  const Client client(host);
  expect(run_sum(client, client.compile(kSum)) == kSums, "1 + 10 and three more sums");
}

void check_bytecode(const Host& host) {
  const Client client(host);
  const std::string bytes = hlo::write_bytecode(*hlo::parse(kSum));
  expect(run_sum(client, client.compile(bytes)) == kSums, "sums of a program in bytecode");
}

void check_bad_programs(const Host& host) {
  const Client client(host);
  const std::string options = pjrt_abi::encode({});
  struct Case {
    std::string_view what;
    std::string_view code;
  };
  const Case cases[] = {
      {"half a program", "module {"},
      {"no program", ""},
      {"words", "this is no program"},
      {"a program without main",
       "module { func.func public @other(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> "
       "} }"},
      {"a sum of arrays of two shapes",
       "module { func.func public @main(%x: tensor<4xf32>, %y: tensor<5xf32>) -> tensor<4xf32> {\n"
       "  %0 = stablehlo.add %x, %y : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>\n"
       "  return %0 : tensor<4xf32> } }"},
      {"a custom call of nothing",
       "module { func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
       "  %0 = stablehlo.custom_call @there_is_no_such_target(%x) : (tensor<4xf32>) -> "
       "tensor<4xf32>\n"
       "  return %0 : tensor<4xf32> } }"},
  };
  for (const Case& c : cases) refuses_to_compile(client, c.what, c.code, "mlir", options);
  refuses_to_compile(client, "a format that is none", kSum, "poetry", options);
  expect(run_sum(client, client.compile(kSum)) == kSums, "sums after programs that were refused");
}

void check_bad_options(const Host& host) {
  const Client client(host);
  refuses_to_compile(client, "compile options that are no message", kSum, "mlir",
                     std::string_view("\xFF\xFF\xFF\xFF\xFF", 5));
  const std::string many = pjrt_abi::encode({.num_replicas = 100000});
  refuses_to_compile(client, "100000 replicas", kSum, "mlir", many);
}

// A program that is damaged anywhere must not end the process.
void check_damaged_bytecode(const Host& host) {
  const Client client(host);
  const std::string options = pjrt_abi::encode({});
  const std::string bytes = hlo::write_bytecode(*hlo::parse(kSum));
  for (size_t at = 0; at < bytes.size(); at += 7) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    auto program = make<PJRT_Program>();
    program.code = damaged.data();
    program.code_size = damaged.size();
    program.format = "mlir";
    program.format_size = 4;
    auto args = make<PJRT_Client_Compile_Args>();
    args.client = client.get();
    args.program = &program;
    args.compile_options = options.data();
    args.compile_options_size = options.size();
    if (PJRT_Error* const error = host.start(args)) {
      host.take(error);
    } else {
      const Loaded loaded(host, args.executable);  // a name was damaged
    }
  }
}

void check_counts(const Host& host) {
  const Client client(host);
  const Loaded loaded = client.compile(kTwoResults);
  const Executable program = client.executable(loaded);
  const auto set = [&](auto& args) { args.executable = program.get(); };
  expect(host.call<PJRT_Executable_NumOutputs_Args>(set).num_outputs == 2,
         "number of results of a program of two");
  expect(host.call<PJRT_Executable_NumReplicas_Args>(set).num_replicas == 1,
         "number of replicas of a program of one");
  expect(host.call<PJRT_Executable_NumPartitions_Args>(set).num_partitions == 1,
         "number of partitions of a program of one");
  const auto name = host.call<PJRT_Executable_Name_Args>(set);
  expect(!text_of(name.executable_name, name.executable_name_size).empty(),
         "an executable has no name");
}

void check_output_types(const Host& host) {
  const Client client(host);
  const Loaded loaded = client.compile(kTwoResults);
  const Executable program = client.executable(loaded);
  const auto set = [&](auto& args) { args.executable = program.get(); };
  const auto types = host.call<PJRT_Executable_OutputElementTypes_Args>(set);
  expect(types.num_output_types == 2 && types.output_types[0] == PJRT_Buffer_Type_F32 &&
             types.output_types[1] == PJRT_Buffer_Type_S32,
         "types of the results");
  const auto dims = host.call<PJRT_Executable_OutputDimensions_Args>(set);
  expect(dims.num_outputs == 2 && dims.dim_sizes[0] == 2 && dims.dim_sizes[1] == 0 &&
             dims.dims[0] == 3 && dims.dims[1] == 2,
         "dimensions of the results");
}

void check_memory_kinds(const Host& host) {
  const Client client(host);
  const Loaded loaded = client.compile(kTwoResults);
  const Executable program = client.executable(loaded);
  const auto told = host.call<PJRT_Executable_OutputMemoryKinds_Args>(
      [&](auto& args) { args.executable = program.get(); });
  expect(told.num_outputs == 2, "number of memory kinds of two results, got {}", told.num_outputs);
  for (size_t i = 0; i < told.num_outputs; ++i)
    expect(!text_of(told.memory_kinds[i], told.memory_kind_sizes[i]).empty(),
           "the memory of a result has no kind");
}

void check_parameter_memory_kinds(const Host& host) {
  const Client client(host);
  const Loaded loaded = client.compile(kSum);
  const Executable program = client.executable(loaded);
  const auto told = host.call<PJRT_Executable_ParameterMemoryKinds_Args>(
      [&](auto& args) { args.executable = program.get(); });
  expect(told.num_parameters == 2, "number of memory kinds of two parameters, got {}",
         told.num_parameters);
}

void check_code_size(const Host& host) {
  const Client client(host);
  const Loaded loaded = client.compile(kSum);
  const Executable program = client.executable(loaded);
  const auto told = host.call<PJRT_Executable_SizeOfGeneratedCodeInBytes_Args>(
      [&](auto& args) { args.executable = program.get(); });
  expect(told.size_in_bytes >= -1, "size of the code, got {}", told.size_in_bytes);
}

void check_cost(const Host& host) {
  const Client client(host);
  const Loaded loaded = client.compile(kSum);
  const Executable program = client.executable(loaded);
  const auto told = host.call<PJRT_Executable_GetCostAnalysis_Args>(
      [&](auto& args) { args.executable = program.get(); });
  for (size_t i = 0; i < told.num_properties; ++i) {
    const PJRT_NamedValue& value = told.properties[i];
    const std::string name = text_of(value.name, value.name_size);
    expect(!name.empty(), "a property of the cost has no name");
    if (name == "flops" && value.type == PJRT_NamedValue_kFloat)
      expect(value.float_value >= 4 && value.float_value < 1000, "flops of four sums, got {}",
             value.float_value);
    if (name == "transcendentals" && value.type == PJRT_NamedValue_kFloat)
      expect(value.float_value == 0, "transcendental functions of four sums, got {}",
             value.float_value);
  }
}

// Expects that the bytes are those of floats, or none.
void expect_floats(int64_t bytes, std::string_view what) {
  expect(bytes >= 0 && bytes < int64_t{1} << 40 && bytes % 4 == 0, "bytes of {} of floats, got {}",
         what, bytes);
}

void check_memory_plan(const Host& host) {
  const Client client(host);
  const Loaded loaded = client.compile(kSum);
  const Executable program = client.executable(loaded);
  const auto told = host.call<PJRT_Executable_GetCompiledMemoryStats_Args>(
      [&](auto& args) { args.executable = program.get(); });
  expect(told.argument_size_in_bytes >= 32, "bytes of the arguments, got {}, expected 32",
         told.argument_size_in_bytes);
  expect(told.output_size_in_bytes >= 16, "bytes of the results, got {}, expected 16",
         told.output_size_in_bytes);
  expect_floats(told.argument_size_in_bytes, "the arguments");
  expect_floats(told.output_size_in_bytes, "the results");
  expect_floats(told.alias_size_in_bytes, "the results in place of arguments");
  expect_floats(told.host_argument_size_in_bytes, "the arguments in the host's memory");
  expect_floats(told.host_output_size_in_bytes, "the results in the host's memory");
  expect(told.temp_size_in_bytes >= 0, "bytes of intermediate values, got {}",
         told.temp_size_in_bytes);
  const auto code = host.call<PJRT_Executable_SizeOfGeneratedCodeInBytes_Args>(
      [&](auto& args) { args.executable = program.get(); });
  expect(code.size_in_bytes <= 0 || told.generated_code_size_in_bytes == code.size_in_bytes,
         "bytes of the code, got {}, expected {}", told.generated_code_size_in_bytes,
         code.size_in_bytes);
  expect(told.total_size_in_bytes == 0 ||
             told.total_size_in_bytes >= told.argument_size_in_bytes + told.temp_size_in_bytes,
         "bytes of all, got {}", told.total_size_in_bytes);
}

std::string fingerprint(const Client& client, std::string_view text) {
  const Loaded loaded = client.compile(text);
  const Executable program = client.executable(loaded);
  const auto told = client.host().call<PJRT_Executable_Fingerprint_Args>(
      [&](auto& args) { args.executable = program.get(); });
  return text_of(told.executable_fingerprint, told.executable_fingerprint_size);
}

void check_fingerprints(const Host& host) {
  const Client client(host);
  const std::string first = fingerprint(client, kSum);
  expect(!first.empty(), "an executable has no fingerprint");
  expect(fingerprint(client, kSum) == first, "the same program has two fingerprints");
  expect(fingerprint(client, kTwoResults) != first, "two programs have the same fingerprint");
}

void check_loaded_fingerprint(const Host& host) {
  const Client client(host);
  const Loaded loaded = client.compile(kSum);
  const auto told = host.call<PJRT_LoadedExecutable_Fingerprint_Args>(
      [&](auto& args) { args.executable = loaded.get(); });
  text_of(told.executable_fingerprint, told.executable_fingerprint_size);
}

void check_optimized_program(const Host& host) {
  const Client client(host);
  const Loaded loaded = client.compile(kSum);
  const Executable executable = client.executable(loaded);
  auto program = make<PJRT_Program>();
  const auto set = [&](auto& args) {
    args.executable = executable.get();
    args.program = &program;
  };
  host.call<PJRT_Executable_OptimizedProgram_Args>(set);
  expect(program.code_size > 0, "the optimised program is empty");
  std::string code(program.code_size + 1, '\x7F');
  program.code = code.data();
  host.call<PJRT_Executable_OptimizedProgram_Args>(set);
  expect(code.back() == '\x7F', "the plugin wrote behind the optimised program's size");
  const std::string format = text_of(program.format, program.format_size);
  expect(format == "mlir" || format == "hlo" || format == "hlo_with_config",
         "format of the optimised program, got '{}'", format);
  code.pop_back();
  expect(code.find('\x7F') == std::string::npos || format != "mlir",
         "the optimised program was not written whole");
}

void check_compile_options(const Host& host) {
  const Client client(host);
  const Loaded loaded = client.compile(kSum);
  const Executable executable = client.executable(loaded);
  const auto told = host.call<PJRT_Executable_GetCompileOptions_Args>(
      [&](auto& args) { args.executable = executable.get(); });
  const std::string bytes = text_of(told.serialized_bytes, told.serialized_bytes_size);
  if (told.serialized_compile_options_deleter != nullptr)
    told.serialized_compile_options_deleter(told.serialized_compile_options);
  expect(pjrt_abi::decode_compile_options(bytes).num_replicas == 1,
         "the compile options of a program of one replica");
}

void check_loaded_devices(const Host& host) {
  const Client client(host);
  const Loaded loaded = client.compile(kSum);
  const auto set = [&](auto& args) { args.executable = loaded.get(); };
  const auto devices = host.call<PJRT_LoadedExecutable_AddressableDevices_Args>(set);
  expect(devices.num_addressable_devices == 1, "number of devices of a program of one, got {}",
         devices.num_addressable_devices);
  const auto own = client.devices();
  expect(std::ranges::find(own, devices.addressable_devices[0]) != own.end(),
         "a program has a device that is not the client's");
}

void check_logical_ids(const Host& host) {
  const Client client(host);
  const Loaded loaded = client.compile(kSum);
  const auto told = host.call<PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args>(
      [&](auto& args) { args.executable = loaded.get(); });
  expect(told.num_addressable_device_logical_ids == 1, "number of logical ids, got {}",
         told.num_addressable_device_logical_ids);
  expect(told.addressable_device_logical_ids[0].replica == 0 &&
             told.addressable_device_logical_ids[0].partition == 0,
         "logical id of the only device");
}

void check_device_assignment(const Host& host) {
  const Client client(host);
  const Loaded loaded = client.compile(kSum);
  const auto told = host.call<PJRT_LoadedExecutable_GetDeviceAssignment_Args>(
      [&](auto& args) { args.executable = loaded.get(); });
  expect(!text_of(told.serialized_bytes, told.serialized_bytes_size).empty(),
         "the device assignment is empty");
  if (told.serialized_device_assignment_deleter != nullptr)
    told.serialized_device_assignment_deleter(told.serialized_device_assignment);
}

void check_delete(const Host& host) {
  const Client client(host);
  const Loaded loaded = client.compile(kSum);
  const auto set = [&](auto& args) { args.executable = loaded.get(); };
  expect(!host.call<PJRT_LoadedExecutable_IsDeleted_Args>(set).is_deleted,
         "a new executable is deleted");
  host.call<PJRT_LoadedExecutable_Delete_Args>(set);
  expect(host.call<PJRT_LoadedExecutable_IsDeleted_Args>(set).is_deleted,
         "a deleted executable is not deleted");
  host.call<PJRT_LoadedExecutable_Delete_Args>(set);
  const Buffer x = client.put(floats({1, 2, 3, 4}));
  PJRT_Buffer* const arguments[] = {x.get(), x.get()};
  client.refuses_to_run("a deleted executable", loaded, arguments);
}

void check_lifetimes(const Host& host) {
  const Client client(host);
  Loaded loaded = client.compile(kTwoResults);
  const Executable program = client.executable(loaded);
  loaded.reset();
  expect(host.call<PJRT_Executable_NumOutputs_Args>([&](auto& args) {
               args.executable = program.get();
             }).num_outputs == 2,
         "an executable changed when what it came from was destroyed");
}

int id_of(const Host& host, PJRT_Device* device) {
  PJRT_DeviceDescription* const description =
      host.call<PJRT_Device_GetDescription_Args>([&](auto& args) { args.device = device; })
          .device_description;
  return host
      .call<PJRT_DeviceDescription_Id_Args>(
          [&](auto& args) { args.device_description = description; })
      .id;
}

// Programs are on the devices that their options name.
void check_chosen_devices(const Host& host) {
  const Client client(host);
  const auto devices = client.devices();
  for (PJRT_Device* device : devices) {
    const int id = id_of(host, device);
    pjrt_abi::CompileOptions options{.device_assignment = {id}};
    std::vector<pjrt_abi::CompileOptions> ways = {options};
    if (id > 0) ways.push_back({.device_ordinal = id});
    for (const pjrt_abi::CompileOptions& way : ways) {
      const Loaded loaded = client.compile(kSum, way);
      const auto told = host.call<PJRT_LoadedExecutable_AddressableDevices_Args>(
          [&](auto& args) { args.executable = loaded.get(); });
      expect(told.num_addressable_devices == 1 && told.addressable_devices[0] == device,
             "a program for device {} is on another one", id);
      const auto assignment = host.call<PJRT_LoadedExecutable_GetDeviceAssignment_Args>(
          [&](auto& args) { args.executable = loaded.get(); });
      const std::string bytes =
          text_of(assignment.serialized_bytes, assignment.serialized_bytes_size);
      assignment.serialized_device_assignment_deleter(assignment.serialized_device_assignment);
      expect(bytes == pjrt_abi::encode_device_assignment(options),
             "the device assignment of a program for device {}", id);
      const Buffer x = client.put(floats({1, 2, 3, 4}), device);
      PJRT_Buffer* const arguments[] = {x.get(), x.get()};
      const auto results = client.run(loaded, arguments);
      expect(host.call<PJRT_Buffer_Device_Args>([&](auto& args) {
                   args.buffer = results[0].get();
                 }).device == device,
             "a result of a program for device {} is on another one", id);
    }
  }
}

void check_too_many_devices(const Host& host) {
  const Client client(host);
  const int count = static_cast<int>(client.devices().size());
  try {
    client.compile(kSum, {.num_replicas = count + 1});
  } catch (const Failure& refused) {
    expect(refused.what.find("PJRT_Client_Compile") != std::string::npos, "{}", refused.what);
    return;
  }
  fail("{} devices took a program of {} replicas", count, count + 1);
}

// -- Saved executables.

std::string save(const Client& client, const Loaded& loaded) {
  const Executable program = client.executable(loaded);
  const auto told = client.host().call<PJRT_Executable_Serialize_Args>(
      [&](auto& args) { args.executable = program.get(); });
  std::string bytes = text_of(told.serialized_bytes, told.serialized_bytes_size);
  if (told.serialized_executable_deleter != nullptr)
    told.serialized_executable_deleter(told.serialized_executable);
  expect(!bytes.empty(), "PJRT_Executable_Serialize wrote nothing");
  return bytes;
}

PJRT_Error* try_to_load(const Client& client, std::string_view bytes, Loaded& loaded) {
  auto args = make<PJRT_Executable_DeserializeAndLoad_Args>();
  args.client = client.get();
  args.serialized_executable = bytes.data();
  args.serialized_executable_size = bytes.size();
  PJRT_Error* const error = client.host().start(args);
  if (error == nullptr) loaded = Loaded(client.host(), args.loaded_executable);
  return error;
}

void check_save_and_load(const Host& host) {
  std::string bytes;
  {
    const Client client(host);
    bytes = save(client, client.compile(kSum));
  }
  const Client other(host);
  Loaded loaded;
  if (PJRT_Error* const error = try_to_load(other, bytes, loaded))
    fail("PJRT_Executable_DeserializeAndLoad: {}", host.take(error).message);
  expect(run_sum(other, loaded) == kSums, "sums of a program that was read");
}

void check_damaged_executables(const Host& host) {
  const Client client(host);
  const std::string bytes = save(client, client.compile(kSum));
  Loaded loaded;
  for (const size_t size : {size_t{0}, size_t{1}, bytes.size() / 2, bytes.size() - 1}) {
    PJRT_Error* const error = try_to_load(client, std::string_view(bytes).substr(0, size), loaded);
    expect(error != nullptr, "{} of {} bytes of an executable were taken", size, bytes.size());
    host.take(error);
  }
  const size_t step = std::max<size_t>(1, bytes.size() / 64);
  for (size_t at = 0; at < bytes.size(); at += step) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    if (PJRT_Error* const error = try_to_load(client, damaged, loaded)) host.take(error);
  }
}

void check_compile_without_loading(const Host& host) {
  const Client client(host);
  PJRT_TopologyDescription* const topology =
      host.call<PJRT_Client_TopologyDescription_Args>(
              [&](auto& args) { args.client = client.get(); })
          .topology;
  const std::string options = pjrt_abi::encode({});
  auto program = make<PJRT_Program>();
  program.code = const_cast<char*>(kSum.data());
  program.code_size = kSum.size();
  program.format = "mlir";
  program.format_size = 4;
  const Executable compiled(host, host.call<PJRT_Compile_Args>([&](auto& args) {
                                        args.topology = topology;
                                        args.program = &program;
                                        args.compile_options = options.data();
                                        args.compile_options_size = options.size();
                                        args.client = client.get();
                                      })
                                      .executable);
  expect(host.call<PJRT_Executable_NumOutputs_Args>([&](auto& args) {
               args.executable = compiled.get();
             }).num_outputs == 1,
         "number of results of a program that was compiled ahead of time");
  if (!host.has<PJRT_Client_Load_Args>()) return;
  const Loaded loaded(host, host.call<PJRT_Client_Load_Args>([&](auto& args) {
                                  args.client = client.get();
                                  args.executable = compiled.get();
                                  args.compile_options = options.data();
                                  args.compile_options_size = options.size();
                                })
                                .loaded_executable);
  expect(run_sum(client, loaded) == kSums, "sums of a program that was compiled ahead of time");
}

constexpr Check kChecks[] = {
    {"compile StableHLO text", "PJRT_Client_Compile", check_text},
    {"compile StableHLO bytecode", "PJRT_Client_Compile", check_bytecode},
    {"programs that are none are refused", "PJRT_Client_Compile", check_bad_programs},
    {"options that are none are refused", "PJRT_Client_Compile", check_bad_options},
    {"damaged bytecode does no harm", "PJRT_Client_Compile", check_damaged_bytecode},
    {"results, replicas, partitions, name of an executable",
     "PJRT_Executable_NumOutputs PJRT_Executable_NumReplicas PJRT_Executable_NumPartitions "
     "PJRT_Executable_Name PJRT_LoadedExecutable_GetExecutable",
     check_counts},
    {"types and dimensions of results",
     "PJRT_Executable_OutputElementTypes PJRT_Executable_OutputDimensions", check_output_types},
    {"memory kinds of results", "PJRT_Executable_OutputMemoryKinds", check_memory_kinds},
    {"memory kinds of parameters", "PJRT_Executable_ParameterMemoryKinds",
     check_parameter_memory_kinds},
    {"size of the code", "PJRT_Executable_SizeOfGeneratedCodeInBytes", check_code_size},
    {"the cost analysis", "PJRT_Executable_GetCostAnalysis", check_cost},
    {"the memory plan", "PJRT_Executable_GetCompiledMemoryStats", check_memory_plan},
    {"fingerprints tell programs apart", "PJRT_Executable_Fingerprint", check_fingerprints},
    {"the fingerprint of a loaded executable", "PJRT_LoadedExecutable_Fingerprint",
     check_loaded_fingerprint},
    {"the optimised program, in two calls", "PJRT_Executable_OptimizedProgram",
     check_optimized_program},
    {"the compile options come back", "PJRT_Executable_GetCompileOptions", check_compile_options},
    {"devices of an executable", "PJRT_LoadedExecutable_AddressableDevices", check_loaded_devices},
    {"logical ids of an executable's devices", "PJRT_LoadedExecutable_AddressableDeviceLogicalIds",
     check_logical_ids},
    {"the device assignment of an executable", "PJRT_LoadedExecutable_GetDeviceAssignment",
     check_device_assignment},
    {"programs are on the devices that their options name",
     "PJRT_Client_Compile PJRT_LoadedExecutable_AddressableDevices "
     "PJRT_LoadedExecutable_GetDeviceAssignment",
     check_chosen_devices},
    {"more replicas than devices are refused", "PJRT_Client_Compile", check_too_many_devices},
    {"delete an executable twice; it cannot run",
     "PJRT_LoadedExecutable_Delete PJRT_LoadedExecutable_IsDeleted", check_delete},
    {"an executable outlives what it came from",
     "PJRT_LoadedExecutable_Destroy PJRT_Executable_Destroy", check_lifetimes},
    {"save an executable, load it in another client",
     "PJRT_Executable_Serialize PJRT_Executable_DeserializeAndLoad", check_save_and_load},
    {"damaged executables do no harm", "PJRT_Executable_DeserializeAndLoad",
     check_damaged_executables},
    {"compile ahead of time, load later", "PJRT_Compile PJRT_Client_Load",
     check_compile_without_loading},
};

}  // namespace

std::span<const Check> compile_checks() { return kChecks; }

}  // namespace systole::app::conform
