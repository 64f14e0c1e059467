// The plugin's table of functions.
#include "plugin/error.h"
#include "plugin/functions.h"
#include "plugin/host_memory.h"

namespace systole::plugin {
namespace {

// The name of a function as a template argument.
template <size_t kSize>
struct Name {
  char text[kSize];
  constexpr Name(const char (&name)[kSize]) {  // NOLINT(google-explicit-constructor)
    for (size_t i = 0; i < kSize; ++i) text[i] = name[i];
  }
};

// A function that this plugin does not have.
template <Name kName, class Args>
PJRT_Error* absent(Args*) noexcept {
  return to_pjrt(unimplemented("{}: the systole plugin does not have this function", kName.text));
}

constexpr PJRT_Api kApi = {
    .struct_size = PJRT_Api_STRUCT_SIZE,
    .extension_start = &host_allocator_extension.base,
    .pjrt_api_version = {.struct_size = PJRT_Api_Version_STRUCT_SIZE,
                         .extension_start = nullptr,
                         .major_version = PJRT_API_MAJOR,
                         .minor_version = PJRT_API_MINOR},
    .PJRT_Error_Destroy = error_destroy,
    .PJRT_Error_Message = error_message,
    .PJRT_Error_GetCode = error_get_code,
    .PJRT_Plugin_Initialize = plugin_initialize,
    .PJRT_Plugin_Attributes = plugin_attributes,
    .PJRT_Event_Destroy = event_destroy,
    .PJRT_Event_IsReady = event_is_ready,
    .PJRT_Event_Error = event_error,
    .PJRT_Event_Await = event_await,
    .PJRT_Event_OnReady = event_on_ready,
    .PJRT_Client_Create = client_create,
    .PJRT_Client_Destroy = client_destroy,
    .PJRT_Client_PlatformName = client_platform_name,
    .PJRT_Client_ProcessIndex = client_process_index,
    .PJRT_Client_PlatformVersion = client_platform_version,
    .PJRT_Client_Devices = client_devices,
    .PJRT_Client_AddressableDevices = client_addressable_devices,
    .PJRT_Client_LookupDevice = client_lookup_device,
    .PJRT_Client_LookupAddressableDevice = client_lookup_addressable_device,
    .PJRT_Client_AddressableMemories = client_addressable_memories,
    .PJRT_Client_Compile = client_compile,
    .PJRT_Client_DefaultDeviceAssignment = client_default_device_assignment,
    .PJRT_Client_BufferFromHostBuffer = client_buffer_from_host_buffer,
    .PJRT_DeviceDescription_Id = device_description_id,
    .PJRT_DeviceDescription_ProcessIndex = device_description_process_index,
    .PJRT_DeviceDescription_Attributes = device_description_attributes,
    .PJRT_DeviceDescription_Kind = device_description_kind,
    .PJRT_DeviceDescription_DebugString = device_description_debug_string,
    .PJRT_DeviceDescription_ToString = device_description_to_string,
    .PJRT_Device_GetDescription = device_get_description,
    .PJRT_Device_IsAddressable = device_is_addressable,
    .PJRT_Device_LocalHardwareId = device_local_hardware_id,
    .PJRT_Device_AddressableMemories = device_addressable_memories,
    .PJRT_Device_DefaultMemory = device_default_memory,
    .PJRT_Device_MemoryStats = device_memory_stats,
    .PJRT_Memory_Id = memory_id,
    .PJRT_Memory_Kind = memory_kind,
    .PJRT_Memory_DebugString = memory_debug_string,
    .PJRT_Memory_ToString = memory_to_string,
    .PJRT_Memory_AddressableByDevices = memory_addressable_by_devices,
    .PJRT_Executable_Destroy = executable_destroy,
    .PJRT_Executable_Name = executable_name,
    .PJRT_Executable_NumReplicas = executable_num_replicas,
    .PJRT_Executable_NumPartitions = executable_num_partitions,
    .PJRT_Executable_NumOutputs = executable_num_outputs,
    .PJRT_Executable_SizeOfGeneratedCodeInBytes = executable_size_of_generated_code_in_bytes,
    .PJRT_Executable_GetCostAnalysis = executable_get_cost_analysis,
    .PJRT_Executable_OutputMemoryKinds = executable_output_memory_kinds,
    .PJRT_Executable_OptimizedProgram = executable_optimized_program,
    .PJRT_Executable_Serialize = executable_serialize,
    .PJRT_LoadedExecutable_Destroy = loaded_executable_destroy,
    .PJRT_LoadedExecutable_GetExecutable = loaded_executable_get_executable,
    .PJRT_LoadedExecutable_AddressableDevices = loaded_executable_addressable_devices,
    .PJRT_LoadedExecutable_Delete = loaded_executable_delete,
    .PJRT_LoadedExecutable_IsDeleted = loaded_executable_is_deleted,
    .PJRT_LoadedExecutable_Execute = loaded_executable_execute,
    .PJRT_Executable_DeserializeAndLoad = executable_deserialize_and_load,
    .PJRT_LoadedExecutable_Fingerprint = loaded_executable_fingerprint,
    .PJRT_Buffer_Destroy = buffer_destroy,
    .PJRT_Buffer_ElementType = buffer_element_type,
    .PJRT_Buffer_Dimensions = buffer_dimensions,
    .PJRT_Buffer_UnpaddedDimensions = buffer_unpadded_dimensions,
    .PJRT_Buffer_DynamicDimensionIndices = buffer_dynamic_dimension_indices,
    .PJRT_Buffer_GetMemoryLayout = buffer_get_memory_layout,
    .PJRT_Buffer_OnDeviceSizeInBytes = buffer_on_device_size_in_bytes,
    .PJRT_Buffer_Device = buffer_device,
    .PJRT_Buffer_Memory = buffer_memory,
    .PJRT_Buffer_Delete = buffer_delete,
    .PJRT_Buffer_IsDeleted = buffer_is_deleted,
    .PJRT_Buffer_CopyToDevice = buffer_copy_to_device,
    .PJRT_Buffer_ToHostBuffer = buffer_to_host_buffer,
    .PJRT_Buffer_IsOnCpu = buffer_is_on_cpu,
    .PJRT_Buffer_ReadyEvent = buffer_ready_event,
    .PJRT_Buffer_UnsafePointer = buffer_unsafe_pointer,
    .PJRT_Buffer_IncreaseExternalReferenceCount = buffer_increase_external_reference_count,
    .PJRT_Buffer_DecreaseExternalReferenceCount = buffer_decrease_external_reference_count,
    .PJRT_Buffer_OpaqueDeviceMemoryDataPointer = buffer_opaque_device_memory_data_pointer,
    .PJRT_CopyToDeviceStream_Destroy = absent<"PJRT_CopyToDeviceStream_Destroy">,
    .PJRT_CopyToDeviceStream_AddChunk = absent<"PJRT_CopyToDeviceStream_AddChunk">,
    .PJRT_CopyToDeviceStream_TotalBytes = absent<"PJRT_CopyToDeviceStream_TotalBytes">,
    .PJRT_CopyToDeviceStream_GranuleSize = absent<"PJRT_CopyToDeviceStream_GranuleSize">,
    .PJRT_CopyToDeviceStream_CurrentBytes = absent<"PJRT_CopyToDeviceStream_CurrentBytes">,
    .PJRT_TopologyDescription_Create = topology_description_create,
    .PJRT_TopologyDescription_Destroy = topology_description_destroy,
    .PJRT_TopologyDescription_PlatformName = topology_description_platform_name,
    .PJRT_TopologyDescription_PlatformVersion = topology_description_platform_version,
    .PJRT_TopologyDescription_GetDeviceDescriptions = topology_description_get_device_descriptions,
    .PJRT_TopologyDescription_Serialize = topology_description_serialize,
    .PJRT_TopologyDescription_Attributes = topology_description_attributes,
    .PJRT_Compile = compile,
    .PJRT_Executable_OutputElementTypes = executable_output_element_types,
    .PJRT_Executable_OutputDimensions = executable_output_dimensions,
    .PJRT_Buffer_CopyToMemory = buffer_copy_to_memory,
    .PJRT_Client_CreateViewOfDeviceBuffer = client_create_view_of_device_buffer,
    .PJRT_Executable_Fingerprint = executable_fingerprint,
    .PJRT_Client_TopologyDescription = client_topology_description,
    .PJRT_Executable_GetCompiledMemoryStats = executable_get_compiled_memory_stats,
    .PJRT_Memory_Kind_Id = memory_kind_id,
    .PJRT_ExecuteContext_Create = execute_context_create,
    .PJRT_ExecuteContext_Destroy = execute_context_destroy,
    .PJRT_Buffer_CopyRawToHost = buffer_copy_raw_to_host,
    .PJRT_AsyncHostToDeviceTransferManager_Destroy = transfer_manager_destroy,
    .PJRT_AsyncHostToDeviceTransferManager_TransferData = transfer_manager_transfer_data,
    .PJRT_Client_CreateBuffersForAsyncHostToDevice = client_create_buffers_for_async_host_to_device,
    .PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer = transfer_manager_retrieve_buffer,
    .PJRT_AsyncHostToDeviceTransferManager_Device = transfer_manager_device,
    .PJRT_AsyncHostToDeviceTransferManager_BufferCount = transfer_manager_buffer_count,
    .PJRT_AsyncHostToDeviceTransferManager_BufferSize = transfer_manager_buffer_size,
    .PJRT_AsyncHostToDeviceTransferManager_SetBufferError = transfer_manager_set_buffer_error,
    .PJRT_AsyncHostToDeviceTransferManager_AddMetadata = transfer_manager_add_metadata,
    .PJRT_Client_DmaMap = client_dma_map,
    .PJRT_Client_DmaUnmap = client_dma_unmap,
    .PJRT_Client_CreateUninitializedBuffer = client_create_uninitialized_buffer,
    .PJRT_Client_UpdateGlobalProcessInfo = client_update_global_process_info,
    .PJRT_TopologyDescription_Deserialize = topology_description_deserialize,
    .PJRT_Client_CreateAliasBuffer = client_create_alias_buffer,
    .PJRT_Client_FulfillAliasBuffer = client_fulfill_alias_buffer,
    .PJRT_LoadedExecutable_GetDeviceAssignment = loaded_executable_get_device_assignment,
    .PJRT_Client_CreateErrorBuffer = client_create_error_buffer,
    .PJRT_AsyncHostToDeviceTransferManager_TransferLiteral = transfer_manager_transfer_literal,
    .PJRT_Buffer_CopyRawToHostFuture = buffer_copy_raw_to_host_future,
    .PJRT_Device_PoisonExecution = absent<"PJRT_Device_PoisonExecution">,
    .PJRT_Device_CreateAsyncTrackingEvent = device_create_async_tracking_event,
    .PJRT_AsyncTrackingEvent_Destroy = async_tracking_event_destroy,
    .PJRT_Executable_GetCompileOptions = executable_get_compile_options,
    .PJRT_Buffer_DonateWithControlDependency = buffer_donate_with_control_dependency,
    .PJRT_Event_Create = event_create,
    .PJRT_Event_Set = event_set,
    .PJRT_Device_GetAttributes = device_get_attributes,
    .PJRT_Client_Load = client_load,
    .PJRT_LoadedExecutable_AddressableDeviceLogicalIds =
        loaded_executable_addressable_device_logical_ids,
    .PJRT_Buffer_Bitcast = buffer_bitcast,
    .PJRT_Error_ForEachPayload = error_for_each_payload,
    .PJRT_TopologyDescription_Fingerprint = topology_description_fingerprint,
    .PJRT_Executable_ParameterMemoryKinds = executable_parameter_memory_kinds,
    .PJRT_Device_ClearMemoryStats = absent<"PJRT_Device_ClearMemoryStats">,
    .PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace =
        absent<"PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace">,
    .PJRT_TopologyDescription_GetMemorySpaceKindIds =
        topology_description_get_memory_space_kind_ids,
};

}  // namespace
}  // namespace systole::plugin

extern "C" __attribute__((visibility("default"))) const PJRT_Api* GetPjrtApi() {
  return &systole::plugin::kApi;
}
