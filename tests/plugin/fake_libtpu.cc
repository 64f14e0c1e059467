// Stands for libtpu in tests: compiles nothing, and answers as the program's text asks it to:
//   "fake: crash", "fake: hang", "fake: refuse", "fake: too big", "fake: lock", else it fits.
// Writes a dump where XLA_FLAGS says, as libtpu does. FAKE_LIBTPU_PLATFORM and FAKE_LIBTPU_MAJOR
// make it the plugin of another platform, and of another version of the API.
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "systole/pjrt_abi/struct_size.h"

struct PJRT_TopologyDescription {
  std::string name;
};
struct PJRT_Executable {
  std::string bytes;
};
struct PJRT_DeviceDescription {
  int id;
};
struct PJRT_SerializedExecutable {};

namespace {

struct FakeError : PJRT_Error {
  PJRT_Error_Code code;
  std::string message;
};

constexpr int kDevices = 8;
constexpr const char* kModule = R"(HloModule m

FileNames
1 "net.cc"

FunctionNames
1 "dense/MatMul"

FileLocations
1 {file_name_id=1 function_name_id=1 line=41 end_line=41 column=0 end_column=0}

StackFrames
1 {file_location_id=1 parent_frame_id=1}


%condition (s: (s32[], f32[8,128])) -> pred[] {
  %s = (s32[], f32[8,128]{1,0:T(8,128)}) parameter(0)
  %constant.5 = s32[]{:T(128)} constant(10)
  %get-tuple-element.2 = s32[]{:T(128)} get-tuple-element(%s), index=0
  ROOT %compare = pred[] compare(%get-tuple-element.2, %constant.5), direction=LT
}

%body (t: (s32[], f32[8,128])) -> (s32[], f32[8,128]) {
  %t = (s32[], f32[8,128]{1,0:T(8,128)}) parameter(0)
  %fusion.7 = f32[8,128]{1,0:T(8,128)} fusion(%t), kind=kLoop, calls=%f, metadata={op_name="jit(step)/add" source_file="-" source_line=4}, backend_config={"window_config":{"estimated_cycles":"100"}}
  ROOT %tuple = (s32[], f32[8,128]{1,0:T(8,128)}) tuple(%t, %fusion.7)
}

ENTRY %main.1 (x: f32[8,128]) -> f32[8,128] {
  %x = f32[8,128]{1,0:T(8,128)} parameter(0)
  %dot.1 = f32[8,128]{1,0:T(8,128)} fusion(%x), kind=kOutput, calls=%g, metadata={op_name="dense/MatMul" stack_frame_id=1}, backend_config={"window_config":{"estimated_cycles":"9400"}}
  %while.1 = (s32[], f32[8,128]{1,0:T(8,128)}) while(%dot.1), condition=%condition, body=%body
  ROOT %out = f32[8,128]{1,0:T(8,128)} get-tuple-element(%while.1), index=1
}
)";

PJRT_Error* error(PJRT_Error_Code code, std::string message) {
  auto* const made = new FakeError();
  made->code = code;
  made->message = std::move(message);
  return made;
}

void write_dump() {
  constexpr std::string_view kFlag = "--xla_dump_to=";
  const std::string flags = std::getenv("XLA_FLAGS");
  const std::string rest = flags.substr(flags.find(kFlag) + kFlag.size());
  const std::string folder = rest.substr(0, rest.find(' '));
  std::filesystem::create_directories(folder);
  const std::string stem = folder + "/module_0000.m";
  std::ofstream(stem + ".after_codegen.txt") << kModule;
  std::ofstream(stem + ".after_optimizations-live-range.txt")
      << "HloLiveRange (max 3):\n  Live ranges at 2 (peak):\n"
         "    x{}: 4096 bytes (cumulative: 4096 bytes)\n"
         "    dot.1{}: 8192 bytes (cumulative: 12288 bytes)\n  Stack trace breakdown\n";
  std::ofstream(stem + ".after_optimizations-memory-usage-report.txt")
      << "Memory Space: default (color=0)\nTotal bytes: 20000000000 (18.6GiB)\n";
}

PJRT_Error* initialize(PJRT_Plugin_Initialize_Args*) { return nullptr; }

PJRT_Error* create_topology(PJRT_TopologyDescription_Create_Args* args) {
  const std::string name(args->topology_name, args->topology_name_size);
  if (name == "v5e:2x2")
    return error(PJRT_Error_Code_INVALID_ARGUMENT, "topology layout is not divisible");
  args->topology = new PJRT_TopologyDescription{name};
  return nullptr;
}

PJRT_Error* platform_name(PJRT_TopologyDescription_PlatformName_Args* args) {
  const char* const given = std::getenv("FAKE_LIBTPU_PLATFORM");
  args->platform_name = given == nullptr ? "tpu" : given;
  args->platform_name_size = std::strlen(args->platform_name);
  return nullptr;
}

PJRT_Error* devices(PJRT_TopologyDescription_GetDeviceDescriptions_Args* args) {
  static PJRT_DeviceDescription all[kDevices] = {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}};
  static PJRT_DeviceDescription* const pointers[kDevices] = {&all[0], &all[1], &all[2], &all[3],
                                                             &all[4], &all[5], &all[6], &all[7]};
  args->descriptions = pointers;
  args->num_descriptions = kDevices;
  return nullptr;
}

PJRT_Error* device_id(PJRT_DeviceDescription_Id_Args* args) {
  args->id = args->device_description->id;
  return nullptr;
}

PJRT_Error* device_kind(PJRT_DeviceDescription_Kind_Args* args) {
  args->device_kind = "TPU v3";
  args->device_kind_size = 6;
  return nullptr;
}

PJRT_Error* device_attributes(PJRT_DeviceDescription_Attributes_Args* args) {
  static const PJRT_NamedValue limit = [] {
    auto value = systole::pjrt_abi::make<PJRT_NamedValue>();
    value.name = "device_memory_bytes_limit";
    value.name_size = std::strlen(value.name);
    value.type = PJRT_NamedValue_kInt64;
    value.int64_value = 16624107520;
    value.value_size = 1;
    return value;
  }();
  args->attributes = &limit;
  args->num_attributes = 1;
  return nullptr;
}

PJRT_Error* compile(PJRT_Compile_Args* args) {
  const std::string_view text(args->program->code, args->program->code_size);
  const auto asks = [&](std::string_view what) { return text.find(what) != text.npos; };
  if (asks("fake: crash")) {
    std::fputs("F0000 check failed: element type\n", stderr);
    std::raise(SIGABRT);
  }
  if (asks("fake: hang"))
    while (true) ::pause();
  if (asks("fake: lock"))
    return error(PJRT_Error_Code_ABORTED, "The TPU is already in use: multi-process lockfile");
  if (asks("fake: refuse"))
    return error(
        PJRT_Error_Code_UNIMPLEMENTED,
        "Custom emitter for my_kernel not found\n\t\n\nSuspected Python Code Location:\n  -:3");
  write_dump();
  if (asks("fake: too big"))
    return error(PJRT_Error_Code_RESOURCE_EXHAUSTED, "Ran out of memory on HBM");
  args->executable = new PJRT_Executable{"a program for " + args->topology->name};
  return nullptr;
}

PJRT_Error* memory(PJRT_Executable_GetCompiledMemoryStats_Args* args) {
  args->argument_size_in_bytes = 4096;
  args->output_size_in_bytes = 4096;
  args->temp_size_in_bytes = 8192;
  args->generated_code_size_in_bytes = 1024;
  args->total_allocation_bytes = 16384;
  return nullptr;
}

PJRT_Error* costs(PJRT_Executable_GetCostAnalysis_Args*) { return nullptr; }

PJRT_Error* serialize(PJRT_Executable_Serialize_Args* args) {
  args->serialized_bytes = args->executable->bytes.data();
  args->serialized_bytes_size = args->executable->bytes.size();
  args->serialized_executable_deleter = [](PJRT_SerializedExecutable*) {};
  return nullptr;
}

PJRT_Error* error_code(PJRT_Error_GetCode_Args* args) {
  args->code = static_cast<const FakeError*>(args->error)->code;
  return nullptr;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const PJRT_Api* GetPjrtApi() {
  static const PJRT_Api api = [] {
    auto table = systole::pjrt_abi::make<PJRT_Api>();
    table.pjrt_api_version = systole::pjrt_abi::make<PJRT_Api_Version>();
    const char* const major = std::getenv("FAKE_LIBTPU_MAJOR");
    table.pjrt_api_version.major_version = major == nullptr ? PJRT_API_MAJOR : std::atoi(major);
    table.pjrt_api_version.minor_version = PJRT_API_MINOR;
    table.PJRT_Error_Destroy = [](PJRT_Error_Destroy_Args* args) {
      delete static_cast<FakeError*>(args->error);
    };
    table.PJRT_Error_Message = [](PJRT_Error_Message_Args* args) {
      const std::string& message = static_cast<const FakeError*>(args->error)->message;
      args->message = message.data();
      args->message_size = message.size();
    };
    table.PJRT_Error_GetCode = error_code;
    table.PJRT_Plugin_Initialize = initialize;
    table.PJRT_TopologyDescription_Create = create_topology;
    table.PJRT_TopologyDescription_PlatformName = platform_name;
    table.PJRT_TopologyDescription_GetDeviceDescriptions = devices;
    table.PJRT_DeviceDescription_Id = device_id;
    table.PJRT_DeviceDescription_Kind = device_kind;
    table.PJRT_DeviceDescription_Attributes = device_attributes;
    table.PJRT_Compile = compile;
    table.PJRT_Executable_GetCompiledMemoryStats = memory;
    table.PJRT_Executable_GetCostAnalysis = costs;
    table.PJRT_Executable_Serialize = serialize;
    return table;
  }();
  return &api;
}
