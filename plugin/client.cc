#include "plugin/error.h"
#include "plugin/functions.h"
#include "plugin/objects.h"
#include "plugin/options.h"
#include "systole/runtime/registry.h"

namespace systole::plugin {
namespace {

const Attributes& plugin_values() {
  static const Attributes& values = []() -> const Attributes& {
    auto& made = *new Attributes();
    made.add("xla_version", int64_t{2});
    made.add("stablehlo_current_version", std::vector<int64_t>{1, 20, 0});
    made.add("stablehlo_minimum_version", std::vector<int64_t>{0, 9, 0});
    made.add("systole_version", std::string(SYSTOLE_VERSION));
    return made;
  }();
  return values;
}

std::unique_ptr<PJRT_Client> make_client(const BackendChoice& choice) {
  check_not_forked();
  auto client = std::make_unique<PJRT_Client>();
  client->runtime = std::make_unique<AsyncClient>(runtime::client(choice.backend, choice.options));
  client->platform_version = fmt::format("systole {} {}", SYSTOLE_VERSION, choice.backend);
  for (const runtime::Device& device : client->runtime->devices()) {
    PJRT_Device* const made =
        client->owned.emplace_back(make_device(client.get(), device, choice.backend)).get();
    client->devices.push_back(made);
    client->memories.insert(client->memories.end(), made->memory_list.begin(),
                            made->memory_list.end());
    client->topology.descriptions.push_back(&made->description);
  }
  client->topology.options_text = to_text(choice);
  client->topology.platform_version = client->platform_version;
  return client;
}

PJRT_Device* find_device(const PJRT_Client& client, int id) {
  if (id >= 0 && static_cast<size_t>(id) < client.devices.size()) {
    return client.devices[id];
  }
  throw invalid_argument("systole plugin: device id, got {}, expected 0 to {}", id,
                         client.devices.size() - 1);
}

}  // namespace

PJRT_Error* plugin_initialize(PJRT_Plugin_Initialize_Args* args) {
  return run("PJRT_Plugin_Initialize", args, [](PJRT_Plugin_Initialize_Args&) {});
}

PJRT_Error* plugin_attributes(PJRT_Plugin_Attributes_Args* args) {
  return run("PJRT_Plugin_Attributes", args, [](PJRT_Plugin_Attributes_Args& a) {
    a.attributes = plugin_values().data();
    a.num_attributes = plugin_values().size();
  });
}

PJRT_Error* client_create(PJRT_Client_Create_Args* args) {
  return run("PJRT_Client_Create", args, [](PJRT_Client_Create_Args& a) {
    a.client = make_client(read_client_options({a.create_options, a.num_options})).release();
  });
}

PJRT_Error* client_destroy(PJRT_Client_Destroy_Args* args) {
  return run("PJRT_Client_Destroy", args, [](PJRT_Client_Destroy_Args& a) { delete a.client; });
}

PJRT_Error* client_platform_name(PJRT_Client_PlatformName_Args* args) {
  return run("PJRT_Client_PlatformName", args, [](PJRT_Client_PlatformName_Args& a) {
    a.platform_name = kPlatformName.data();
    a.platform_name_size = kPlatformName.size();
  });
}

// The state of other processes concerns no device here: all are in this process. A client of JAX
// ends the process when this call fails.
PJRT_Error* client_update_global_process_info(PJRT_Client_UpdateGlobalProcessInfo_Args* args) {
  return run("PJRT_Client_UpdateGlobalProcessInfo", args,
             [](PJRT_Client_UpdateGlobalProcessInfo_Args&) {});
}

PJRT_Error* client_process_index(PJRT_Client_ProcessIndex_Args* args) {
  return run("PJRT_Client_ProcessIndex", args,
             [](PJRT_Client_ProcessIndex_Args& a) { a.process_index = 0; });
}

PJRT_Error* client_platform_version(PJRT_Client_PlatformVersion_Args* args) {
  return run("PJRT_Client_PlatformVersion", args, [](PJRT_Client_PlatformVersion_Args& a) {
    a.platform_version = a.client->platform_version.c_str();
    a.platform_version_size = a.client->platform_version.size();
  });
}

PJRT_Error* client_devices(PJRT_Client_Devices_Args* args) {
  return run("PJRT_Client_Devices", args, [](PJRT_Client_Devices_Args& a) {
    a.devices = a.client->devices.data();
    a.num_devices = a.client->devices.size();
  });
}

PJRT_Error* client_addressable_devices(PJRT_Client_AddressableDevices_Args* args) {
  return run("PJRT_Client_AddressableDevices", args, [](PJRT_Client_AddressableDevices_Args& a) {
    a.addressable_devices = a.client->devices.data();
    a.num_addressable_devices = a.client->devices.size();
  });
}

PJRT_Error* client_lookup_device(PJRT_Client_LookupDevice_Args* args) {
  return run("PJRT_Client_LookupDevice", args,
             [](PJRT_Client_LookupDevice_Args& a) { a.device = find_device(*a.client, a.id); });
}

PJRT_Error* client_lookup_addressable_device(PJRT_Client_LookupAddressableDevice_Args* args) {
  return run("PJRT_Client_LookupAddressableDevice", args,
             [](PJRT_Client_LookupAddressableDevice_Args& a) {
               a.addressable_device = find_device(*a.client, a.local_hardware_id);
             });
}

PJRT_Error* client_addressable_memories(PJRT_Client_AddressableMemories_Args* args) {
  return run("PJRT_Client_AddressableMemories", args, [](PJRT_Client_AddressableMemories_Args& a) {
    a.addressable_memories = a.client->memories.data();
    a.num_addressable_memories = a.client->memories.size();
  });
}

PJRT_Error* client_default_device_assignment(PJRT_Client_DefaultDeviceAssignment_Args* args) {
  return run("PJRT_Client_DefaultDeviceAssignment", args,
             [](PJRT_Client_DefaultDeviceAssignment_Args& a) {
               const auto devices = static_cast<int64_t>(a.client->devices.size());
               const int64_t wanted = int64_t{a.num_replicas} * a.num_partitions;
               if (wanted < 1 || wanted > devices) {
                 throw invalid_argument(
                     "PJRT_Client_DefaultDeviceAssignment: {} replicas of {} partitions, expected "
                     "1 to {} devices",
                     a.num_replicas, a.num_partitions, devices);
               }
               if (a.default_assignment_size < static_cast<size_t>(wanted)) {
                 throw invalid_argument(
                     "PJRT_Client_DefaultDeviceAssignment: default_assignment_size, got {}, "
                     "expected {}",
                     a.default_assignment_size, wanted);
               }
               for (int64_t i = 0; i < wanted; ++i) a.default_assignment[i] = static_cast<int>(i);
             });
}

PJRT_Error* client_topology_description(PJRT_Client_TopologyDescription_Args* args) {
  return run("PJRT_Client_TopologyDescription", args,
             [](PJRT_Client_TopologyDescription_Args& a) { a.topology = &a.client->topology; });
}

}  // namespace systole::plugin
