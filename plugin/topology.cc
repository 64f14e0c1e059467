#include <string>

#include "plugin/error.h"
#include "plugin/functions.h"
#include "plugin/objects.h"
#include "plugin/options.h"
#include "systole/runtime/registry.h"

namespace systole::plugin {
namespace {

// Describes the devices that a client with these options would have.
PJRT_TopologyDescription* make_topology(const BackendChoice& choice) {
  auto topology = std::make_unique<PJRT_TopologyDescription>();
  for (const runtime::Device& device : runtime::client(choice.backend, choice.options).devices()) {
    auto& description = topology->owned.emplace_back(std::make_unique<PJRT_DeviceDescription>());
    fill_description(*description, device, choice.backend);
    topology->descriptions.push_back(description.get());
  }
  topology->options_text = to_text(choice);
  topology->platform_version = fmt::format("systole {} {}", SYSTOLE_VERSION, choice.backend);
  return topology.release();
}

}  // namespace

runtime::Client& client_of(const PJRT_TopologyDescription& topology) {
  const BackendChoice choice = parse_choice(topology.options_text);
  return runtime::client(choice.backend, choice.options);
}

PJRT_Error* topology_description_create(PJRT_TopologyDescription_Create_Args* args) {
  return run("PJRT_TopologyDescription_Create", args, [](PJRT_TopologyDescription_Create_Args& a) {
    const std::string_view name(a.topology_name, a.topology_name_size);
    BackendChoice choice = read_client_options({a.create_options, a.num_options});
    if (name.find('=') != std::string_view::npos) choice = parse_choice(name);
    a.topology = make_topology(choice);
  });
}

PJRT_Error* topology_description_destroy(PJRT_TopologyDescription_Destroy_Args* args) {
  return run("PJRT_TopologyDescription_Destroy", args,
             [](PJRT_TopologyDescription_Destroy_Args& a) {
               // The descriptions of a client's topology, and so the topology, are the client's.
               if (!a.topology->owned.empty()) delete a.topology;
             });
}

PJRT_Error* topology_description_platform_name(PJRT_TopologyDescription_PlatformName_Args* args) {
  return run("PJRT_TopologyDescription_PlatformName", args,
             [](PJRT_TopologyDescription_PlatformName_Args& a) {
               a.platform_name = kPlatformName.data();
               a.platform_name_size = kPlatformName.size();
             });
}

PJRT_Error* topology_description_platform_version(
    PJRT_TopologyDescription_PlatformVersion_Args* args) {
  return run("PJRT_TopologyDescription_PlatformVersion", args,
             [](PJRT_TopologyDescription_PlatformVersion_Args& a) {
               a.platform_version = a.topology->platform_version.c_str();
               a.platform_version_size = a.topology->platform_version.size();
             });
}

PJRT_Error* topology_description_get_device_descriptions(
    PJRT_TopologyDescription_GetDeviceDescriptions_Args* args) {
  return run("PJRT_TopologyDescription_GetDeviceDescriptions", args,
             [](PJRT_TopologyDescription_GetDeviceDescriptions_Args& a) {
               a.descriptions = a.topology->descriptions.data();
               a.num_descriptions = a.topology->descriptions.size();
             });
}

PJRT_Error* topology_description_serialize(PJRT_TopologyDescription_Serialize_Args* args) {
  return run("PJRT_TopologyDescription_Serialize", args,
             [](PJRT_TopologyDescription_Serialize_Args& a) {
               auto* const kept = new PJRT_SerializedTopology{a.topology->options_text};
               a.serialized_bytes = kept->bytes.data();
               a.serialized_bytes_size = kept->bytes.size();
               a.serialized_topology = kept;
               a.serialized_topology_deleter = [](PJRT_SerializedTopology* t) { delete t; };
             });
}

PJRT_Error* topology_description_deserialize(PJRT_TopologyDescription_Deserialize_Args* args) {
  return run("PJRT_TopologyDescription_Deserialize", args,
             [](PJRT_TopologyDescription_Deserialize_Args& a) {
               a.topology =
                   make_topology(parse_choice({a.serialized_topology, a.serialized_topology_size}));
             });
}

PJRT_Error* topology_description_attributes(PJRT_TopologyDescription_Attributes_Args* args) {
  return run("PJRT_TopologyDescription_Attributes", args,
             [](PJRT_TopologyDescription_Attributes_Args& a) {
               a.attributes = a.topology->attributes.data();
               a.num_attributes = a.topology->attributes.size();
             });
}

PJRT_Error* topology_description_fingerprint(PJRT_TopologyDescription_Fingerprint_Args* args) {
  return run("PJRT_TopologyDescription_Fingerprint", args,
             [](PJRT_TopologyDescription_Fingerprint_Args& a) {
               a.fingerprint = std::hash<std::string>()(a.topology->options_text);
             });
}

PJRT_Error* topology_description_get_memory_space_kind_ids(
    PJRT_TopologyDescription_GetMemorySpaceKindIds_Args* args) {
  return run("PJRT_TopologyDescription_GetMemorySpaceKindIds", args,
             [](PJRT_TopologyDescription_GetMemorySpaceKindIds_Args& a) {
               a.memory_space_kind_ids = kMemoryKindIds.data();
               a.num_memory_space_kind_ids = kMemoryKindIds.size();
             });
}

}  // namespace systole::plugin
