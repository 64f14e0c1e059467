// Checks of topologies that have a name, and of programs compiled for them: all that a plugin can
// do on a machine without its devices.
#include <algorithm>
#include <set>
#include <string>

#include "apps/systole/conform/host.h"
#include "systole/pjrt_abi/compile_options.h"

namespace systole::app::conform {
namespace {

// Creates the topology that `--topology` names, or the plugin's default. Errors: Absent if the
// plugin does not implement PJRT_TopologyDescription_Create, or has no default.
Topology make_topology(const Host& host) {
  const std::string& name = host.setup().topology;
  auto args = make<PJRT_TopologyDescription_Create_Args>();
  args.topology_name = name.data();
  args.topology_name_size = name.size();
  if (PJRT_Error* const error = host.start(args)) {
    const PluginError told = host.take(error);
    if (name.empty() || told.code == PJRT_Error_Code_UNIMPLEMENTED)
      throw Absent{"PJRT_TopologyDescription_Create"};
    fail("PJRT_TopologyDescription_Create, of '{}': {}", name, told.message);
  }
  expect(args.topology != nullptr, "PJRT_TopologyDescription_Create gave no topology");
  return {host, args.topology};
}

std::vector<PJRT_DeviceDescription*> devices_of(const Host& host, const Topology& topology) {
  const auto told = host.call<PJRT_TopologyDescription_GetDeviceDescriptions_Args>(
      [&](auto& args) { args.topology = topology.get(); });
  expect(told.num_descriptions > 0, "a topology has no devices");
  return {told.descriptions, told.descriptions + told.num_descriptions};
}

int id_of(const Host& host, PJRT_DeviceDescription* device) {
  return host
      .call<PJRT_DeviceDescription_Id_Args>([&](auto& args) { args.device_description = device; })
      .id;
}

void check_devices(const Host& host) {
  const Topology topology = make_topology(host);
  std::set<int> ids;
  for (PJRT_DeviceDescription* device : devices_of(host, topology)) {
    const auto of_device = [&](auto& args) { args.device_description = device; };
    expect(ids.insert(id_of(host, device)).second, "two devices of a topology have an id");
    const auto kind = host.call<PJRT_DeviceDescription_Kind_Args>(of_device);
    expect(!text_of(kind.device_kind, kind.device_kind_size).empty(),
           "a device of a topology has no kind");
    const auto text = host.call<PJRT_DeviceDescription_ToString_Args>(of_device);
    expect(!text_of(text.to_string, text.to_string_size).empty(),
           "a device of a topology has no text");
    const auto attributes = host.call<PJRT_DeviceDescription_Attributes_Args>(of_device);
    for (size_t i = 0; i < attributes.num_attributes; ++i) {
      expect(attributes.attributes[i].name_size > 0, "an attribute of a device has no name");
    }
  }
}

void check_names(const Host& host) {
  const Topology topology = make_topology(host);
  const auto of_topology = [&](auto& args) { args.topology = topology.get(); };
  const auto name = host.call<PJRT_TopologyDescription_PlatformName_Args>(of_topology);
  expect(!text_of(name.platform_name, name.platform_name_size).empty(),
         "the platform of a topology has no name");
  const auto version = host.call<PJRT_TopologyDescription_PlatformVersion_Args>(of_topology);
  expect(!text_of(version.platform_version, version.platform_version_size).empty(),
         "the platform of a topology has no version");
}

void check_memory_kinds(const Host& host) {
  const Topology topology = make_topology(host);
  const auto told = host.call<PJRT_TopologyDescription_GetMemorySpaceKindIds_Args>(
      [&](auto& args) { args.topology = topology.get(); });
  expect(told.num_memory_space_kind_ids > 0, "a topology has no kinds of memories");
  const std::set<int> ids(told.memory_space_kind_ids,
                          told.memory_space_kind_ids + told.num_memory_space_kind_ids);
  expect(ids.size() == told.num_memory_space_kind_ids, "two kinds of memories have an id");
}

void check_saved_topology(const Host& host) {
  const Topology topology = make_topology(host);
  const auto saved = host.call<PJRT_TopologyDescription_Serialize_Args>(
      [&](auto& args) { args.topology = topology.get(); });
  const std::string bytes = text_of(saved.serialized_bytes, saved.serialized_bytes_size);
  if (saved.serialized_topology_deleter != nullptr)
    saved.serialized_topology_deleter(saved.serialized_topology);
  expect(!bytes.empty(), "PJRT_TopologyDescription_Serialize wrote nothing");
  const Topology copy(host, host.call<PJRT_TopologyDescription_Deserialize_Args>([&](auto& args) {
                                  args.serialized_topology = bytes.data();
                                  args.serialized_topology_size = bytes.size();
                                })
                                .topology);
  expect(devices_of(host, copy).size() == devices_of(host, topology).size(),
         "a topology that was read has another number of devices");
}

// Options for a program on the first device.
std::string options_for(const Host& host, const Topology& topology) {
  return pjrt_abi::encode({.device_assignment = {id_of(host, devices_of(host, topology)[0])}});
}

PJRT_Error* compile(const Host& host, const Topology& topology, std::string_view text,
                    std::string_view options, PJRT_Executable*& executable) {
  auto program = make<PJRT_Program>();
  program.code = const_cast<char*>(text.data());
  program.code_size = text.size();
  program.format = "mlir";
  program.format_size = 4;
  auto args = make<PJRT_Compile_Args>();
  args.topology = topology.get();
  args.program = &program;
  args.compile_options = options.data();
  args.compile_options_size = options.size();
  PJRT_Error* const error = host.start(args);
  executable = args.executable;
  return error;
}

Executable compile_sum(const Host& host, const Topology& topology) {
  PJRT_Executable* executable = nullptr;
  PJRT_Error* const error = compile(host, topology, kSum, options_for(host, topology), executable);
  if (error == nullptr) return {host, executable};
  const PluginError told = host.take(error);
  if (told.code == PJRT_Error_Code_UNIMPLEMENTED) throw Absent{"PJRT_Compile"};
  fail("PJRT_Compile: {}", told.message);
}

void check_compiled(const Host& host) {
  const Topology topology = make_topology(host);
  const Executable sum = compile_sum(host, topology);
  const auto of_sum = [&](auto& args) { args.executable = sum.get(); };
  expect(host.call<PJRT_Executable_NumOutputs_Args>(of_sum).num_outputs == 1,
         "number of results of a sum");
  expect(host.call<PJRT_Executable_NumReplicas_Args>(of_sum).num_replicas == 1,
         "number of replicas of a program of one");
  expect(host.call<PJRT_Executable_NumPartitions_Args>(of_sum).num_partitions == 1,
         "number of partitions of a program of one");
  const auto types = host.call<PJRT_Executable_OutputElementTypes_Args>(of_sum);
  expect(types.num_output_types == 1 && types.output_types[0] == PJRT_Buffer_Type_F32,
         "type of a sum of floats");
  const auto dims = host.call<PJRT_Executable_OutputDimensions_Args>(of_sum);
  expect(dims.num_outputs == 1 && dims.dim_sizes[0] == 1 && dims.dims[0] == 4,
         "dimensions of a sum of four floats");
}

void check_plan(const Host& host) {
  const Topology topology = make_topology(host);
  const Executable sum = compile_sum(host, topology);
  const auto told = host.call<PJRT_Executable_GetCompiledMemoryStats_Args>(
      [&](auto& args) { args.executable = sum.get(); });
  expect(told.argument_size_in_bytes >= 32, "bytes of the arguments, got {}, expected 32 or more",
         told.argument_size_in_bytes);
  expect(told.output_size_in_bytes >= 16, "bytes of the results, got {}, expected 16 or more",
         told.output_size_in_bytes);
}

void check_saved_program(const Host& host) {
  const Topology topology = make_topology(host);
  const Executable sum = compile_sum(host, topology);
  const auto saved =
      host.call<PJRT_Executable_Serialize_Args>([&](auto& args) { args.executable = sum.get(); });
  const std::string bytes = text_of(saved.serialized_bytes, saved.serialized_bytes_size);
  if (saved.serialized_executable_deleter != nullptr)
    saved.serialized_executable_deleter(saved.serialized_executable);
  expect(!bytes.empty(), "PJRT_Executable_Serialize wrote nothing");
}

void check_bad_programs(const Host& host) {
  const Topology topology = make_topology(host);
  compile_sum(host, topology);  // it compiles at all
  const std::string options = options_for(host, topology);
  for (const std::string_view text : {"", "no program", "module { func.func @main("}) {
    PJRT_Executable* executable = nullptr;
    PJRT_Error* const error = compile(host, topology, text, options, executable);
    expect(error != nullptr, "PJRT_Compile took '{}'", text);
    expect(!host.take(error).message.empty(), "the error about '{}' has no message", text);
  }
}

constexpr Check kChecks[] = {
    {"devices of a topology by its name",
     "PJRT_TopologyDescription_Create PJRT_TopologyDescription_GetDeviceDescriptions "
     "PJRT_DeviceDescription_Id PJRT_DeviceDescription_Kind PJRT_DeviceDescription_ToString "
     "PJRT_DeviceDescription_Attributes",
     check_devices},
    {"the platform of a topology by its name",
     "PJRT_TopologyDescription_PlatformName PJRT_TopologyDescription_PlatformVersion", check_names},
    {"kinds of memories of a topology", "PJRT_TopologyDescription_GetMemorySpaceKindIds",
     check_memory_kinds},
    {"save a topology, read it without a client",
     "PJRT_TopologyDescription_Serialize PJRT_TopologyDescription_Deserialize",
     check_saved_topology},
    {"compile for a topology, without a client",
     "PJRT_Compile PJRT_Executable_NumOutputs PJRT_Executable_OutputElementTypes "
     "PJRT_Executable_OutputDimensions",
     check_compiled},
    {"the memory plan of a program for a topology", "PJRT_Executable_GetCompiledMemoryStats",
     check_plan},
    {"save a program for a topology", "PJRT_Executable_Serialize", check_saved_program},
    {"programs that are none are refused for a topology", "PJRT_Compile", check_bad_programs},
};

}  // namespace

std::span<const Check> topology_checks() { return kChecks; }

}  // namespace systole::app::conform
