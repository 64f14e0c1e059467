#include "systole/backends/pjrt/session.h"

#include <algorithm>

namespace systole::pjrt {
namespace {

PJRT_NamedValue named_value(const CreateOption& option) {
  const auto& [name, value] = option;
  auto named = pjrt_abi::make<PJRT_NamedValue>();
  named.name = name.c_str();
  named.name_size = name.size();
  named.value_size = 1;
  if (const auto* text = std::get_if<std::string>(&value)) {
    named.type = PJRT_NamedValue_kString;
    named.string_value = text->c_str();
    named.value_size = text->size();
  } else if (const auto* integer = std::get_if<int64_t>(&value)) {
    named.type = PJRT_NamedValue_kInt64;
    named.int64_value = *integer;
  } else if (const auto* number = std::get_if<float>(&value)) {
    named.type = PJRT_NamedValue_kFloat;
    named.float_value = *number;
  } else {
    named.type = PJRT_NamedValue_kBool;
    named.bool_value = std::get<bool>(value);
  }
  return named;
}

PJRT_Client* create_client(const Plugin& plugin, const std::vector<CreateOption>& options) {
  std::vector<PJRT_NamedValue> values;
  values.reserve(options.size());
  for (const CreateOption& option : options) values.push_back(named_value(option));
  auto args = pjrt_abi::make<PJRT_Client_Create_Args>();
  args.create_options = values.data();
  args.num_options = values.size();
  plugin.call(&PJRT_Api::PJRT_Client_Create, "PJRT_Client_Create", args);
  if (args.client == nullptr) {
    throw internal_error("PJRT_Client_Create: plugin '{}' returned no client", plugin.path());
  }
  return args.client;
}

std::string platform_name(const Session& session) {
  auto args = pjrt_abi::make<PJRT_Client_PlatformName_Args>();
  args.client = session.client;
  session.plugin->call(&PJRT_Api::PJRT_Client_PlatformName, "PJRT_Client_PlatformName", args);
  return {args.platform_name, args.platform_name_size};
}

std::string platform_version(const Session& session) {
  auto args = pjrt_abi::make<PJRT_Client_PlatformVersion_Args>();
  args.client = session.client;
  session.plugin->call(&PJRT_Api::PJRT_Client_PlatformVersion, "PJRT_Client_PlatformVersion", args);
  return {args.platform_version, args.platform_version_size};
}

// Sets what TPUs tell as attributes of their devices.
void read_attributes(const PJRT_NamedValue* values, size_t count, runtime::Device& device) {
  for (size_t i = 0; i < count; ++i) {
    const PJRT_NamedValue& value = values[i];
    const std::string_view name(value.name, value.name_size);
    if (name == "coords" && value.type == PJRT_NamedValue_kInt64List) {
      const size_t size = std::min(value.value_size, device.coordinates.size());
      for (size_t axis = 0; axis < size; ++axis) {
        device.coordinates[axis] = static_cast<int>(value.int64_array_value[axis]);
      }
    } else if (name == "core_on_chip" && value.type == PJRT_NamedValue_kInt64) {
      device.core_on_chip = static_cast<int>(value.int64_value);
    }
  }
}

runtime::Device describe(const Session& session, PJRT_Device* handle) {
  const Plugin& plugin = *session.plugin;
  auto description = pjrt_abi::make<PJRT_Device_GetDescription_Args>();
  description.device = handle;
  plugin.call(&PJRT_Api::PJRT_Device_GetDescription, "PJRT_Device_GetDescription", description);
  auto id = pjrt_abi::make<PJRT_DeviceDescription_Id_Args>();
  id.device_description = description.device_description;
  plugin.call(&PJRT_Api::PJRT_DeviceDescription_Id, "PJRT_DeviceDescription_Id", id);
  auto process = pjrt_abi::make<PJRT_DeviceDescription_ProcessIndex_Args>();
  process.device_description = description.device_description;
  plugin.call(&PJRT_Api::PJRT_DeviceDescription_ProcessIndex, "PJRT_DeviceDescription_ProcessIndex",
              process);
  auto kind = pjrt_abi::make<PJRT_DeviceDescription_Kind_Args>();
  kind.device_description = description.device_description;
  plugin.call(&PJRT_Api::PJRT_DeviceDescription_Kind, "PJRT_DeviceDescription_Kind", kind);
  auto attributes = pjrt_abi::make<PJRT_DeviceDescription_Attributes_Args>();
  attributes.device_description = description.device_description;
  plugin.call(&PJRT_Api::PJRT_DeviceDescription_Attributes, "PJRT_DeviceDescription_Attributes",
              attributes);
  runtime::Device device{
      .id = id.id,
      .process_index = process.process_index,
      .name = fmt::format("{}:{}", session.platform, id.id),
      .kind =
          fmt::format("{} ({}, PJRT {})", std::string_view(kind.device_kind, kind.device_kind_size),
                      platform_version(session), plugin.version())};
  read_attributes(attributes.attributes, attributes.num_attributes, device);
  try {
    device.memory_bytes = memory_stats(session, handle).bytes_limit;
  } catch (const Error& error) {
    if (error.code() != Code::unimplemented) throw;
  }
  return device;
}

}  // namespace

runtime::MemoryStats memory_stats(const Session& session, PJRT_Device* device) {
  auto args = pjrt_abi::make<PJRT_Device_MemoryStats_Args>();
  args.device = device;
  session.plugin->call(&PJRT_Api::PJRT_Device_MemoryStats, "PJRT_Device_MemoryStats", args);
  return {.bytes_in_use = args.bytes_in_use,
          .peak_bytes_in_use =
              args.peak_bytes_in_use_is_set ? args.peak_bytes_in_use : args.bytes_in_use,
          .bytes_limit = args.bytes_limit_is_set ? args.bytes_limit : 0};
}

std::string stablehlo_version(const Plugin& plugin) {
  auto args = pjrt_abi::make<PJRT_Plugin_Attributes_Args>();
  if (!plugin.has(&PJRT_Api::PJRT_Plugin_Attributes)) return "";
  plugin.call(&PJRT_Api::PJRT_Plugin_Attributes, "PJRT_Plugin_Attributes", args);
  for (size_t i = 0; i < args.num_attributes; ++i) {
    const PJRT_NamedValue& value = args.attributes[i];
    if (std::string_view(value.name, value.name_size) != "stablehlo_current_version") continue;
    if (value.type != PJRT_NamedValue_kInt64List || value.value_size != 3) continue;
    const int64_t* const parts = value.int64_array_value;
    return fmt::format("{}.{}.{}", parts[0], parts[1], parts[2]);
  }
  return "";
}

std::shared_ptr<const Session> open_session(const Address& address) {
  auto session = std::make_shared<Session>();
  session->plugin = Plugin::load(find_plugin(address.plugin));
  const Plugin& plugin = *session->plugin;
  session->client = create_client(plugin, address.options);
  session->platform = platform_name(*session);
  auto devices = pjrt_abi::make<PJRT_Client_AddressableDevices_Args>();
  devices.client = session->client;
  plugin.call(&PJRT_Api::PJRT_Client_AddressableDevices, "PJRT_Client_AddressableDevices", devices);
  for (size_t i = 0; i < devices.num_addressable_devices; ++i) {
    PJRT_Device* const handle = devices.addressable_devices[i];
    session->handles.push_back(handle);
    session->devices.push_back(describe(*session, handle));
  }
  if (session->devices.empty()) {
    throw make_error(Code::unavailable, "pjrt: plugin '{}' ({}) has no device", plugin.path(),
                     session->platform);
  }
  return session;
}

}  // namespace systole::pjrt
