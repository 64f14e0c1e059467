// Checks of clients, devices, memories and topologies.
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "apps/systole/conform/host.h"

namespace systole::app::conform {
namespace {

void check_create_and_destroy(const Host& host) {
  for (int i = 0; i < 3; ++i) {
    Client client(host);
    client.destroy();
  }
}

void check_two_clients(const Host& host) {
  auto first = std::make_unique<Client>(host);
  const Client second(host);
  expect(first->get() != second.get(), "two clients are one");
  const Buffer buffer = second.put(floats({1, 2}));
  first.reset();
  expect(second.get_floats(buffer.get()) == std::vector<float>({1, 2}),
         "a client's array changed when another client ended");
}

std::string platform_name(const Client& client) {
  const auto told = client.host().call<PJRT_Client_PlatformName_Args>(
      [&](auto& args) { args.client = client.get(); });
  return text_of(told.platform_name, told.platform_name_size);
}

void check_platform(const Host& host) {
  const Client client(host);
  const std::string name = platform_name(client);
  expect(!name.empty(), "the platform has no name");
  expect(std::ranges::none_of(name, [](char c) { return c == ' ' || c == '\n' || c == '\0'; }),
         "name of the platform, got '{}', expected one word", name);
  expect(platform_name(client) == name, "the name of the platform changed");
  const auto version =
      host.call<PJRT_Client_PlatformVersion_Args>([&](auto& args) { args.client = client.get(); });
  expect(!text_of(version.platform_version, version.platform_version_size).empty(),
         "the platform has no version");
}

void check_process_index(const Host& host) {
  const Client client(host);
  const auto told =
      host.call<PJRT_Client_ProcessIndex_Args>([&](auto& args) { args.client = client.get(); });
  expect(told.process_index == 0, "index of the only process, got {}, expected 0",
         told.process_index);
}

std::vector<PJRT_Device*> all_devices(const Client& client) {
  const auto told =
      client.host().call<PJRT_Client_Devices_Args>([&](auto& args) { args.client = client.get(); });
  return {told.devices, told.devices + told.num_devices};
}

PJRT_DeviceDescription* description(const Host& host, PJRT_Device* device) {
  return host.call<PJRT_Device_GetDescription_Args>([&](auto& args) { args.device = device; })
      .device_description;
}

int id_of(const Host& host, PJRT_Device* device) {
  PJRT_DeviceDescription* const described = description(host, device);
  return host
      .call<PJRT_DeviceDescription_Id_Args>(
          [&](auto& args) { args.device_description = described; })
      .id;
}

void check_devices(const Host& host) {
  const Client client(host);
  const auto devices = all_devices(client);
  std::set<int> ids;
  for (PJRT_Device* device : devices) {
    expect(device != nullptr, "a device is NULL");
    expect(ids.insert(id_of(host, device)).second, "two devices have one id");
  }
  expect(all_devices(client) == devices, "the devices changed from one call to the next");
  const auto addressable = client.devices();
  for (PJRT_Device* device : addressable) {
    expect(std::ranges::find(devices, device) != devices.end(),
           "an addressable device is not among the devices");
  }
  for (PJRT_Device* device : devices) {
    const bool told =
        host.call<PJRT_Device_IsAddressable_Args>([&](auto& args) { args.device = device; })
            .is_addressable;
    expect(told == (std::ranges::find(addressable, device) != addressable.end()),
           "PJRT_Device_IsAddressable and the list of addressable devices disagree");
  }
}

void check_lookup(const Host& host) {
  const Client client(host);
  for (PJRT_Device* device : all_devices(client)) {
    const int id = id_of(host, device);
    const auto found = host.call<PJRT_Client_LookupDevice_Args>([&](auto& args) {
      args.client = client.get();
      args.id = id;
    });
    expect(found.device == device, "PJRT_Client_LookupDevice({}) gave another device", id);
  }
  for (const int id : {-7, 1 << 30}) {
    host.refuses<PJRT_Client_LookupDevice_Args>("an id of no device", [&](auto& args) {
      args.client = client.get();
      args.id = id;
    });
  }
}

void check_lookup_addressable(const Host& host) {
  const Client client(host);
  std::set<int> ids;
  for (PJRT_Device* device : client.devices()) {
    const int id =
        host.call<PJRT_Device_LocalHardwareId_Args>([&](auto& args) { args.device = device; })
            .local_hardware_id;
    if (id < 0) continue;  // "none"
    expect(ids.insert(id).second, "two devices have the local hardware id {}", id);
    const auto found = host.call<PJRT_Client_LookupAddressableDevice_Args>([&](auto& args) {
      args.client = client.get();
      args.local_hardware_id = id;
    });
    expect(found.addressable_device == device,
           "PJRT_Client_LookupAddressableDevice({}) gave another device", id);
  }
  host.refuses<PJRT_Client_LookupAddressableDevice_Args>("an id of no device", [&](auto& args) {
    args.client = client.get();
    args.local_hardware_id = 1 << 30;
  });
}

void check_descriptions(const Host& host) {
  const Client client(host);
  for (PJRT_Device* device : all_devices(client)) {
    PJRT_DeviceDescription* const about = description(host, device);
    const auto set = [&](auto& args) { args.device_description = about; };
    const auto kind = host.call<PJRT_DeviceDescription_Kind_Args>(set);
    expect(!text_of(kind.device_kind, kind.device_kind_size).empty(), "a device has no kind");
    const auto debug = host.call<PJRT_DeviceDescription_DebugString_Args>(set);
    expect(!text_of(debug.debug_string, debug.debug_string_size).empty(),
           "a device has no debug string");
    const auto text = host.call<PJRT_DeviceDescription_ToString_Args>(set);
    expect(!text_of(text.to_string, text.to_string_size).empty(), "a device has no text");
    const auto attributes = host.call<PJRT_DeviceDescription_Attributes_Args>(set);
    for (size_t i = 0; i < attributes.num_attributes; ++i) {
      expect(!text_of(attributes.attributes[i].name, attributes.attributes[i].name_size).empty(),
             "an attribute of a device has no name");
    }
    const auto process = host.call<PJRT_DeviceDescription_ProcessIndex_Args>(set);
    expect(process.process_index == 0, "process of a device, got {}, expected 0",
           process.process_index);
  }
}

std::vector<PJRT_Memory*> memories_of(const Host& host, PJRT_Device* device) {
  const auto told =
      host.call<PJRT_Device_AddressableMemories_Args>([&](auto& args) { args.device = device; });
  return {told.memories, told.memories + told.num_memories};
}

void check_memories(const Host& host) {
  const Client client(host);
  const auto told = host.call<PJRT_Client_AddressableMemories_Args>(
      [&](auto& args) { args.client = client.get(); });
  const std::vector<PJRT_Memory*> all(told.addressable_memories,
                                      told.addressable_memories + told.num_addressable_memories);
  expect(!all.empty(), "the client has no addressable memories");
  for (PJRT_Device* device : client.devices()) {
    const auto own = memories_of(host, device);
    const auto standard =
        host.call<PJRT_Device_DefaultMemory_Args>([&](auto& args) { args.device = device; });
    expect(std::ranges::find(own, standard.memory) != own.end(),
           "the default memory of a device is not among its memories");
    for (PJRT_Memory* memory : own) {
      expect(std::ranges::find(all, memory) != all.end(),
             "a memory of a device is not among the client's");
      const auto users = host.call<PJRT_Memory_AddressableByDevices_Args>(
          [&](auto& args) { args.memory = memory; });
      const auto devices = all_devices(client);
      expect(users.num_devices <= devices.size(), "devices of a memory, got {}", users.num_devices);
      for (size_t i = 0; i < users.num_devices; ++i) {
        expect(std::ranges::find(devices, users.devices[i]) != devices.end(),
               "a device of a memory is not among the client's");
      }
      expect(std::find(users.devices, users.devices + users.num_devices, device) !=
                 users.devices + users.num_devices,
             "PJRT_Memory_AddressableByDevices leaves out a device that has the memory");
    }
  }
}

void check_memory_names(const Host& host) {
  const Client client(host);
  std::set<int> ids;
  std::map<std::string, int> kinds;
  for (PJRT_Device* device : client.devices()) {
    for (PJRT_Memory* memory : memories_of(host, device)) {
      const auto set = [&](auto& args) { args.memory = memory; };
      ids.insert(host.call<PJRT_Memory_Id_Args>(set).id);
      const auto kind = host.call<PJRT_Memory_Kind_Args>(set);
      const std::string name = text_of(kind.kind, kind.kind_size);
      expect(!name.empty(), "a memory has no kind");
      const auto debug = host.call<PJRT_Memory_DebugString_Args>(set);
      expect(!text_of(debug.debug_string, debug.debug_string_size).empty(),
             "a memory has no debug string");
      const auto text = host.call<PJRT_Memory_ToString_Args>(set);
      expect(!text_of(text.to_string, text.to_string_size).empty(), "a memory has no text");
      if (!host.has<PJRT_Memory_Kind_Id_Args>()) continue;
      const int id = host.call<PJRT_Memory_Kind_Id_Args>(set).kind_id;
      expect(kinds.emplace(name, id).first->second == id, "the kind '{}' has two numbers", name);
    }
  }
  std::set<int> numbers;
  for (const auto& [name, id] : kinds)
    expect(numbers.insert(id).second, "two kinds of memory have the number {}", id);
  expect(!ids.empty(), "no memory has an id");
}

void count_end(void* count) { ++*static_cast<int*>(count); }

// A memory keeps one user value for each key; replacing a value, or destroying the client, frees
// it.
void check_memory_user_data(const Host& host) {
  if (host.minor_version() < 112) throw Absent{"PJRT_Memory_FunctionTable"};
  int first = 0;
  int second = 0;
  {
    const Client client(host);
    PJRT_Memory* const memory = host.call<PJRT_Device_DefaultMemory_Args>(
                                        [&](auto& args) { args.device = client.device(); })
                                    .memory;
    const PJRT_Memory_FunctionTable* const table = memory->vtable;
    expect(table != nullptr, "a memory has no functions");
    const int keys[3] = {};
    expect(table->get_user_data(memory, &keys[0]) == nullptr, "a memory has data of nobody");
    table->set_user_data(memory, &keys[0], &first, count_end);
    table->set_user_data(memory, &keys[1], &first, count_end);
    table->set_user_data(memory, &keys[2], &first, nullptr);
    expect(table->get_user_data(memory, &keys[0]) == &first, "a memory's data are others");
    table->set_user_data(memory, &keys[0], &second, count_end);
    expect(table->get_user_data(memory, &keys[0]) == &second, "a memory's data stay the old ones");
    expect(first == 1 && second == 0, "ends of a memory's data that were replaced, got {} and {}",
           first, second);
  }
  expect(first == 2 && second == 1, "ends of a memory's data, got {} and {}", first, second);
}

// Clients do not clear the struct before they call.
void check_memory_stats(const Host& host) {
  const Client client(host);
  const Buffer buffer = client.put(floats({1, 2, 3, 4}));
  PJRT_Device_MemoryStats_Args args;
  std::memset(&args, 0xA5, sizeof(args));
  args.struct_size = pjrt_abi::kStructSize<PJRT_Device_MemoryStats_Args>;
  args.extension_start = nullptr;
  args.device = client.device();
  if (PJRT_Error* const error = host.start(args)) {
    const PluginError told = host.take(error);
    if (told.code == PJRT_Error_Code_UNIMPLEMENTED) throw Absent{"PJRT_Device_MemoryStats"};
    fail("PJRT_Device_MemoryStats: {}", told.message);
  }
  expect(args.bytes_in_use >= 0, "bytes_in_use, got {}", args.bytes_in_use);
  const auto flag = [](const bool& set, const int64_t& value, std::string_view name) {
    const auto byte = static_cast<unsigned char>(*reinterpret_cast<const char*>(&set));
    expect(byte <= 1, "{}_is_set was not written", name);
    expect(byte == 0 || value >= 0, "{}, got {}", name, value);
    constexpr auto kUnset = static_cast<int64_t>(0xA5A5A5A5A5A5A5A5U);
    expect(byte == 1 || value == 0 || value == kUnset, "{} is {}, and said not to be set", name,
           value);
  };
  flag(args.peak_bytes_in_use_is_set, args.peak_bytes_in_use, "peak_bytes_in_use");
  flag(args.num_allocs_is_set, args.num_allocs, "num_allocs");
  flag(args.largest_alloc_size_is_set, args.largest_alloc_size, "largest_alloc_size");
  flag(args.bytes_limit_is_set, args.bytes_limit, "bytes_limit");
  flag(args.bytes_reserved_is_set, args.bytes_reserved, "bytes_reserved");
  flag(args.peak_bytes_reserved_is_set, args.peak_bytes_reserved, "peak_bytes_reserved");
  flag(args.bytes_reservable_limit_is_set, args.bytes_reservable_limit, "bytes_reservable_limit");
  flag(args.largest_free_block_bytes_is_set, args.largest_free_block_bytes,
       "largest_free_block_bytes");
  expect(!args.peak_bytes_in_use_is_set || args.peak_bytes_in_use >= args.bytes_in_use,
         "bytes in use, got {}, more than the most that were in use, {}", args.bytes_in_use,
         args.peak_bytes_in_use);
  flag(args.pool_bytes_is_set, args.pool_bytes, "pool_bytes");
  flag(args.peak_pool_bytes_is_set, args.peak_pool_bytes, "peak_pool_bytes");
}

void check_memory_stats_count(const Host& host) {
  const Client client(host);
  const auto in_use = [&] {
    return host
        .call<PJRT_Device_MemoryStats_Args>([&](auto& args) { args.device = client.device(); })
        .bytes_in_use;
  };
  const int64_t before = in_use();
  Buffer buffer = client.put(floats(std::vector<float>(1 << 20, 1.0F)));
  expect(in_use() >= before + (4 << 20), "4 MiB of an array are not in bytes_in_use");
  buffer.reset();
  expect(in_use() < before + (4 << 20), "bytes_in_use holds the memory of a destroyed array");
}

void check_assignment(const Host& host) {
  const Client client(host);
  int id = -1;
  host.call<PJRT_Client_DefaultDeviceAssignment_Args>([&](auto& args) {
    args.client = client.get();
    args.num_replicas = 1;
    args.num_partitions = 1;
    args.default_assignment = &id;
    args.default_assignment_size = 1;
  });
  const auto devices = all_devices(client);
  expect(std::ranges::any_of(devices, [&](PJRT_Device* d) { return id_of(host, d) == id; }),
         "the default assignment names device {}, which is not there", id);
  std::vector<int> ids(devices.size(), -1);
  host.call<PJRT_Client_DefaultDeviceAssignment_Args>([&](auto& args) {
    args.client = client.get();
    args.num_replicas = static_cast<int>(ids.size());
    args.num_partitions = 1;
    args.default_assignment = ids.data();
    args.default_assignment_size = ids.size();
  });
  expect(std::set<int>(ids.begin(), ids.end()).size() == ids.size(),
         "the default assignment of all devices names one twice");
  host.refuses<PJRT_Client_DefaultDeviceAssignment_Args>(
      "room for one device where two are asked for", [&](auto& args) {
        args.client = client.get();
        args.num_replicas = 2;
        args.num_partitions = 1;
        args.default_assignment = &id;
        args.default_assignment_size = 1;
      });
}

void check_device_attributes(const Host& host) {
  const Client client(host);
  const auto told =
      host.call<PJRT_Device_GetAttributes_Args>([&](auto& args) { args.device = client.device(); });
  for (size_t i = 0; i < told.num_attributes; ++i) {
    expect(!text_of(told.attributes[i].name, told.attributes[i].name_size).empty(),
           "an attribute of a device has no name");
  }
  if (told.attributes_deleter != nullptr) told.attributes_deleter(told.device_attributes);
}

void check_clear_memory_stats(const Host& host) {
  const Client client(host);
  host.call<PJRT_Device_ClearMemoryStats_Args>([&](auto& args) { args.device = client.device(); });
}

void check_tracking_event(const Host& host) {
  const Client client(host);
  constexpr std::string_view kWhat = "a step";
  const auto told = host.call<PJRT_Device_CreateAsyncTrackingEvent_Args>([&](auto& args) {
    args.device = client.device();
    args.description = kWhat.data();
    args.description_size = kWhat.size();
  });
  expect(told.event != nullptr, "PJRT_Device_CreateAsyncTrackingEvent gave no event");
  host.call<PJRT_AsyncTrackingEvent_Destroy_Args>([&](auto& args) { args.event = told.event; });
}

// A client of one process is told of no others.
void check_processes(const Host& host) {
  const Client client(host);
  host.call<PJRT_Client_UpdateGlobalProcessInfo_Args>([&](auto& args) {
    args.client = client.get();
    args.process_infos = nullptr;
    args.num_process_infos = 0;
  });
}

// -- Topologies.

std::vector<PJRT_DeviceDescription*> descriptions(const Host& host,
                                                  PJRT_TopologyDescription* topology) {
  const auto told = host.call<PJRT_TopologyDescription_GetDeviceDescriptions_Args>(
      [&](auto& args) { args.topology = topology; });
  return {told.descriptions, told.descriptions + told.num_descriptions};
}

void check_client_topology(const Host& host) {
  const Client client(host);
  PJRT_TopologyDescription* const topology =
      host.call<PJRT_Client_TopologyDescription_Args>(
              [&](auto& args) { args.client = client.get(); })
          .topology;
  expect(topology != nullptr, "the topology of a client is NULL");
  expect(descriptions(host, topology).size() == all_devices(client).size(),
         "the topology of a client has another number of devices");
  const auto name = host.call<PJRT_TopologyDescription_PlatformName_Args>(
      [&](auto& args) { args.topology = topology; });
  expect(text_of(name.platform_name, name.platform_name_size) == platform_name(client),
         "the topology of a client has another platform");
  const auto version = host.call<PJRT_TopologyDescription_PlatformVersion_Args>(
      [&](auto& args) { args.topology = topology; });
  expect(!text_of(version.platform_version, version.platform_version_size).empty(),
         "a topology has no version");
  const auto attributes = host.call<PJRT_TopologyDescription_Attributes_Args>(
      [&](auto& args) { args.topology = topology; });
  expect(attributes.num_attributes == 0 || attributes.attributes != nullptr,
         "the attributes of a topology are NULL");
}

void check_topology_copy(const Host& host) {
  const Client client(host);
  PJRT_TopologyDescription* const topology =
      host.call<PJRT_Client_TopologyDescription_Args>(
              [&](auto& args) { args.client = client.get(); })
          .topology;
  const auto saved = host.call<PJRT_TopologyDescription_Serialize_Args>(
      [&](auto& args) { args.topology = topology; });
  const std::string bytes = text_of(saved.serialized_bytes, saved.serialized_bytes_size);
  if (saved.serialized_topology_deleter != nullptr)
    saved.serialized_topology_deleter(saved.serialized_topology);
  expect(!bytes.empty(), "PJRT_TopologyDescription_Serialize wrote nothing");
  const auto read = host.call<PJRT_TopologyDescription_Deserialize_Args>([&](auto& args) {
    args.serialized_topology = bytes.data();
    args.serialized_topology_size = bytes.size();
  });
  const Topology copy(host, read.topology);
  expect(descriptions(host, copy.get()).size() == descriptions(host, topology).size(),
         "a topology that was read has another number of devices");
  if (!host.has<PJRT_TopologyDescription_Fingerprint_Args>()) return;
  const auto fingerprint = [&](PJRT_TopologyDescription* of) {
    return host
        .call<PJRT_TopologyDescription_Fingerprint_Args>([&](auto& args) { args.topology = of; })
        .fingerprint;
  };
  expect(fingerprint(copy.get()) == fingerprint(topology),
         "a topology that was read has another fingerprint");
}

void check_own_topology(const Host& host) {
  auto args = make<PJRT_TopologyDescription_Create_Args>();
  if (PJRT_Error* const error = host.start(args)) {
    // A plugin may need a name.
    const PluginError told = host.take(error);
    if (told.code == PJRT_Error_Code_UNIMPLEMENTED) throw Absent{"PJRT_TopologyDescription_Create"};
    expect(!told.message.empty(), "the error about a topology without a name has no message");
    return;
  }
  const Topology topology(host, args.topology);
  const auto devices = descriptions(host, topology.get());
  expect(!devices.empty(), "a topology has no devices");
  for (PJRT_DeviceDescription* device : devices) {
    const auto kind = host.call<PJRT_DeviceDescription_Kind_Args>(
        [&](auto& a) { a.device_description = device; });
    expect(!text_of(kind.device_kind, kind.device_kind_size).empty(),
           "a device of a topology has no kind");
  }
}

void check_damaged_topology(const Host& host) {
  constexpr std::string_view kBytes = "no topology \xFF\x01";
  host.refuses<PJRT_TopologyDescription_Deserialize_Args>("bytes of no topology", [&](auto& args) {
    args.serialized_topology = kBytes.data();
    args.serialized_topology_size = kBytes.size();
  });
}

constexpr Check kChecks[] = {
    {"create and destroy clients", "PJRT_Client_Create PJRT_Client_Destroy",
     check_create_and_destroy},
    {"two clients in one process", "PJRT_Client_Create PJRT_Client_Destroy", check_two_clients},
    {"name and version of the platform", "PJRT_Client_PlatformName PJRT_Client_PlatformVersion",
     check_platform},
    {"index of the process", "PJRT_Client_ProcessIndex", check_process_index},
    {"devices have their own ids; the addressable ones are among them",
     "PJRT_Client_Devices PJRT_Client_AddressableDevices PJRT_Device_IsAddressable "
     "PJRT_DeviceDescription_Id PJRT_Device_GetDescription",
     check_devices},
    {"find devices by id, refuse other ids", "PJRT_Client_LookupDevice", check_lookup},
    {"find devices by their local hardware id",
     "PJRT_Client_LookupAddressableDevice PJRT_Device_LocalHardwareId", check_lookup_addressable},
    {"descriptions of devices have texts",
     "PJRT_DeviceDescription_Kind PJRT_DeviceDescription_DebugString "
     "PJRT_DeviceDescription_ToString PJRT_DeviceDescription_Attributes "
     "PJRT_DeviceDescription_ProcessIndex",
     check_descriptions},
    {"memories of devices and of the client agree",
     "PJRT_Client_AddressableMemories PJRT_Device_AddressableMemories PJRT_Device_DefaultMemory "
     "PJRT_Memory_AddressableByDevices",
     check_memories},
    {"memories have ids, kinds and texts",
     "PJRT_Memory_Id PJRT_Memory_Kind PJRT_Memory_Kind_Id PJRT_Memory_DebugString "
     "PJRT_Memory_ToString",
     check_memory_names},
    {"data of the caller with a memory", "PJRT_Device_DefaultMemory", check_memory_user_data},
    {"every field of the memory statistics is written", "PJRT_Device_MemoryStats",
     check_memory_stats},
    {"the memory statistics count an array", "PJRT_Device_MemoryStats", check_memory_stats_count},
    {"the default assignment names devices", "PJRT_Client_DefaultDeviceAssignment",
     check_assignment},
    {"attributes of a device", "PJRT_Device_GetAttributes", check_device_attributes},
    {"clear the memory statistics", "PJRT_Device_ClearMemoryStats", check_clear_memory_stats},
    {"a tracking event", "PJRT_Device_CreateAsyncTrackingEvent PJRT_AsyncTrackingEvent_Destroy",
     check_tracking_event},
    {"the topology of a client",
     "PJRT_Client_TopologyDescription PJRT_TopologyDescription_GetDeviceDescriptions "
     "PJRT_TopologyDescription_PlatformName PJRT_TopologyDescription_PlatformVersion "
     "PJRT_TopologyDescription_Attributes",
     check_client_topology},
    {"write and read a topology",
     "PJRT_TopologyDescription_Serialize PJRT_TopologyDescription_Deserialize "
     "PJRT_TopologyDescription_Fingerprint",
     check_topology_copy},
    {"processes of a client", "PJRT_Client_UpdateGlobalProcessInfo", check_processes},
    {"make a topology", "PJRT_TopologyDescription_Create PJRT_TopologyDescription_Destroy",
     check_own_topology},
    {"bytes of no topology are refused", "PJRT_TopologyDescription_Deserialize",
     check_damaged_topology},
};

}  // namespace

std::span<const Check> client_checks() { return kChecks; }

}  // namespace systole::app::conform
