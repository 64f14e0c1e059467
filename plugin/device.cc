#include <cstring>
#include <utility>

#include "plugin/error.h"
#include "plugin/functions.h"
#include "plugin/objects.h"
#include "systole/base/mutex.h"

namespace systole::plugin {
namespace {

// Functions that callers since 0.112 find in the memory itself.
constexpr PJRT_Memory_FunctionTable kMemoryFunctions = {
    .struct_size = PJRT_Memory_FunctionTable_STRUCT_SIZE,
    .extension_start = nullptr,
    .instance_struct_size = sizeof(DeviceMemory),
    .get_user_data = [](PJRT_Memory* memory, const void* key) -> void* {
      auto& self = *static_cast<DeviceMemory*>(memory);
      const systole::MutexLock lock(self.mutex);
      const auto entry = self.user_data.find(key);
      return entry == self.user_data.end() ? nullptr : entry->second.first;
    },
    .set_user_data =
        [](PJRT_Memory* memory, const void* key, void* data, void (*destructor)(void*)) {
          auto& self = *static_cast<DeviceMemory*>(memory);
          std::pair<void*, void (*)(void*)> before{};
          {
            const systole::MutexLock lock(self.mutex);
            before = std::exchange(self.user_data[key], {data, destructor});
          }
          if (before.second != nullptr) before.second(before.first);
        },
};

DeviceMemory& of(PJRT_Memory* memory) { return *static_cast<DeviceMemory*>(memory); }

void set_string(const std::string& value, const char*& text, size_t& size) {
  text = value.c_str();
  size = value.size();
}

}  // namespace

DeviceMemory::~DeviceMemory() {
  for (const auto& [key, value] : user_data) {
    if (value.second != nullptr) value.second(value.first);
  }
}

void fill_description(PJRT_DeviceDescription& description, const runtime::Device& device,
                      std::string_view platform) {
  description.device = &device;
  description.text = fmt::format("SystoleDevice(id={})", device.id);
  description.debug_string = fmt::format("{} device {} ({})", platform, device.name, device.kind);
  description.attributes.add(
      "coords", std::vector<int64_t>(device.coordinates.begin(), device.coordinates.end()));
  description.attributes.add("core_on_chip", int64_t{device.core_on_chip});
}

std::unique_ptr<PJRT_Device> make_device(PJRT_Client* client, const runtime::Device& described,
                                         std::string_view platform) {
  auto device = std::make_unique<PJRT_Device>();
  device->client = client;
  fill_description(device->description, described, platform);
  for (size_t kind = 0; kind < kMemoryKinds.size(); ++kind) {
    DeviceMemory& memory = device->memories[kind];
    memory.vtable = &kMemoryFunctions;
    memory.device = device.get();
    memory.kind = kind;
    memory.id = described.id * static_cast<int>(kMemoryKinds.size()) + static_cast<int>(kind);
    memory.text = fmt::format("{} memory of {}", kMemoryKinds[kind], described.name);
    memory.debug_string = memory.text;
    device->memory_list[kind] = &memory;
  }
  return device;
}

PJRT_Error* device_description_id(PJRT_DeviceDescription_Id_Args* args) {
  return run("PJRT_DeviceDescription_Id", args,
             [](PJRT_DeviceDescription_Id_Args& a) { a.id = a.device_description->device->id; });
}

PJRT_Error* device_description_process_index(PJRT_DeviceDescription_ProcessIndex_Args* args) {
  return run("PJRT_DeviceDescription_ProcessIndex", args,
             [](PJRT_DeviceDescription_ProcessIndex_Args& a) {
               a.process_index = a.device_description->device->process_index;
             });
}

PJRT_Error* device_description_attributes(PJRT_DeviceDescription_Attributes_Args* args) {
  return run("PJRT_DeviceDescription_Attributes", args,
             [](PJRT_DeviceDescription_Attributes_Args& a) {
               a.attributes = a.device_description->attributes.data();
               a.num_attributes = a.device_description->attributes.size();
             });
}

PJRT_Error* device_description_kind(PJRT_DeviceDescription_Kind_Args* args) {
  return run("PJRT_DeviceDescription_Kind", args, [](PJRT_DeviceDescription_Kind_Args& a) {
    set_string(a.device_description->device->kind, a.device_kind, a.device_kind_size);
  });
}

PJRT_Error* device_description_debug_string(PJRT_DeviceDescription_DebugString_Args* args) {
  return run("PJRT_DeviceDescription_DebugString", args,
             [](PJRT_DeviceDescription_DebugString_Args& a) {
               set_string(a.device_description->debug_string, a.debug_string, a.debug_string_size);
             });
}

PJRT_Error* device_description_to_string(PJRT_DeviceDescription_ToString_Args* args) {
  return run("PJRT_DeviceDescription_ToString", args, [](PJRT_DeviceDescription_ToString_Args& a) {
    set_string(a.device_description->text, a.to_string, a.to_string_size);
  });
}

PJRT_Error* device_get_description(PJRT_Device_GetDescription_Args* args) {
  return run("PJRT_Device_GetDescription", args, [](PJRT_Device_GetDescription_Args& a) {
    a.device_description = &a.device->description;
  });
}

PJRT_Error* device_is_addressable(PJRT_Device_IsAddressable_Args* args) {
  return run("PJRT_Device_IsAddressable", args,
             [](PJRT_Device_IsAddressable_Args& a) { a.is_addressable = true; });
}

PJRT_Error* device_local_hardware_id(PJRT_Device_LocalHardwareId_Args* args) {
  return run("PJRT_Device_LocalHardwareId", args, [](PJRT_Device_LocalHardwareId_Args& a) {
    a.local_hardware_id = a.device->description.device->id;
  });
}

PJRT_Error* device_addressable_memories(PJRT_Device_AddressableMemories_Args* args) {
  return run("PJRT_Device_AddressableMemories", args, [](PJRT_Device_AddressableMemories_Args& a) {
    a.memories = a.device->memory_list.data();
    a.num_memories = a.device->memory_list.size();
  });
}

PJRT_Error* device_default_memory(PJRT_Device_DefaultMemory_Args* args) {
  return run("PJRT_Device_DefaultMemory", args,
             [](PJRT_Device_DefaultMemory_Args& a) { a.memory = a.device->memory_list[0]; });
}

PJRT_Error* device_memory_stats(PJRT_Device_MemoryStats_Args* args) {
  return run("PJRT_Device_MemoryStats", args, [](PJRT_Device_MemoryStats_Args& a) {
    const runtime::MemoryStats stats =
        a.device->client->runtime->memory_stats(a.device->description.device->id);
    // Callers need not clear what is not set.
    constexpr size_t kFirst = offsetof(PJRT_Device_MemoryStats_Args, bytes_in_use);
    std::memset(reinterpret_cast<std::byte*>(&a) + kFirst, 0,
                PJRT_Device_MemoryStats_Args_STRUCT_SIZE - kFirst);
    a.bytes_in_use = stats.bytes_in_use;
    a.peak_bytes_in_use = stats.peak_bytes_in_use;
    a.peak_bytes_in_use_is_set = true;
    a.bytes_limit = stats.bytes_limit;
    a.bytes_limit_is_set = stats.bytes_limit > 0;
  });
}

PJRT_Error* device_get_attributes(PJRT_Device_GetAttributes_Args* args) {
  return run("PJRT_Device_GetAttributes", args, [](PJRT_Device_GetAttributes_Args& a) {
    a.attributes = a.device->description.attributes.data();
    a.num_attributes = a.device->description.attributes.size();
    a.device_attributes = new PJRT_Device_Attributes();
    a.attributes_deleter = [](PJRT_Device_Attributes* attributes) { delete attributes; };
  });
}

PJRT_Error* memory_id(PJRT_Memory_Id_Args* args) {
  return run("PJRT_Memory_Id", args, [](PJRT_Memory_Id_Args& a) { a.id = of(a.memory).id; });
}

PJRT_Error* memory_kind(PJRT_Memory_Kind_Args* args) {
  return run("PJRT_Memory_Kind", args, [](PJRT_Memory_Kind_Args& a) {
    const std::string_view kind = kMemoryKinds[of(a.memory).kind];
    a.kind = kind.data();
    a.kind_size = kind.size();
  });
}

PJRT_Error* memory_kind_id(PJRT_Memory_Kind_Id_Args* args) {
  return run("PJRT_Memory_Kind_Id", args,
             [](PJRT_Memory_Kind_Id_Args& a) { a.kind_id = kMemoryKindIds[of(a.memory).kind]; });
}

PJRT_Error* memory_debug_string(PJRT_Memory_DebugString_Args* args) {
  return run("PJRT_Memory_DebugString", args, [](PJRT_Memory_DebugString_Args& a) {
    set_string(of(a.memory).debug_string, a.debug_string, a.debug_string_size);
  });
}

PJRT_Error* memory_to_string(PJRT_Memory_ToString_Args* args) {
  return run("PJRT_Memory_ToString", args, [](PJRT_Memory_ToString_Args& a) {
    set_string(of(a.memory).text, a.to_string, a.to_string_size);
  });
}

PJRT_Error* memory_addressable_by_devices(PJRT_Memory_AddressableByDevices_Args* args) {
  return run("PJRT_Memory_AddressableByDevices", args,
             [](PJRT_Memory_AddressableByDevices_Args& a) {
               a.devices = &of(a.memory).device;
               a.num_devices = 1;
             });
}

}  // namespace systole::plugin
