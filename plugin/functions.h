// The functions of the PJRT C API that the plugin has, by file.
#pragma once

#include "systole/pjrt_abi/pjrt_c_api.h"

namespace systole::plugin {

// error.cc
void error_destroy(PJRT_Error_Destroy_Args* args);
void error_message(PJRT_Error_Message_Args* args);
PJRT_Error* error_get_code(PJRT_Error_GetCode_Args* args);
PJRT_Error* error_for_each_payload(PJRT_Error_ForEachPayload_Args* args);

// event.cc
PJRT_Error* event_destroy(PJRT_Event_Destroy_Args* args);
PJRT_Error* event_is_ready(PJRT_Event_IsReady_Args* args);
PJRT_Error* event_error(PJRT_Event_Error_Args* args);
PJRT_Error* event_await(PJRT_Event_Await_Args* args);
PJRT_Error* event_on_ready(PJRT_Event_OnReady_Args* args);
PJRT_Error* event_create(PJRT_Event_Create_Args* args);
PJRT_Error* event_set(PJRT_Event_Set_Args* args);

// client.cc
PJRT_Error* plugin_initialize(PJRT_Plugin_Initialize_Args* args);
PJRT_Error* plugin_attributes(PJRT_Plugin_Attributes_Args* args);
PJRT_Error* client_create(PJRT_Client_Create_Args* args);
PJRT_Error* client_destroy(PJRT_Client_Destroy_Args* args);
PJRT_Error* client_platform_name(PJRT_Client_PlatformName_Args* args);
PJRT_Error* client_process_index(PJRT_Client_ProcessIndex_Args* args);
PJRT_Error* client_platform_version(PJRT_Client_PlatformVersion_Args* args);
PJRT_Error* client_devices(PJRT_Client_Devices_Args* args);
PJRT_Error* client_addressable_devices(PJRT_Client_AddressableDevices_Args* args);
PJRT_Error* client_lookup_device(PJRT_Client_LookupDevice_Args* args);
PJRT_Error* client_lookup_addressable_device(PJRT_Client_LookupAddressableDevice_Args* args);
PJRT_Error* client_addressable_memories(PJRT_Client_AddressableMemories_Args* args);
PJRT_Error* client_default_device_assignment(PJRT_Client_DefaultDeviceAssignment_Args* args);
PJRT_Error* client_update_global_process_info(PJRT_Client_UpdateGlobalProcessInfo_Args* args);
PJRT_Error* client_topology_description(PJRT_Client_TopologyDescription_Args* args);

// device.cc
PJRT_Error* device_description_id(PJRT_DeviceDescription_Id_Args* args);
PJRT_Error* device_description_process_index(PJRT_DeviceDescription_ProcessIndex_Args* args);
PJRT_Error* device_description_attributes(PJRT_DeviceDescription_Attributes_Args* args);
PJRT_Error* device_description_kind(PJRT_DeviceDescription_Kind_Args* args);
PJRT_Error* device_description_debug_string(PJRT_DeviceDescription_DebugString_Args* args);
PJRT_Error* device_description_to_string(PJRT_DeviceDescription_ToString_Args* args);
PJRT_Error* device_get_description(PJRT_Device_GetDescription_Args* args);
PJRT_Error* device_is_addressable(PJRT_Device_IsAddressable_Args* args);
PJRT_Error* device_local_hardware_id(PJRT_Device_LocalHardwareId_Args* args);
PJRT_Error* device_addressable_memories(PJRT_Device_AddressableMemories_Args* args);
PJRT_Error* device_default_memory(PJRT_Device_DefaultMemory_Args* args);
PJRT_Error* device_memory_stats(PJRT_Device_MemoryStats_Args* args);
PJRT_Error* memory_id(PJRT_Memory_Id_Args* args);
PJRT_Error* memory_kind(PJRT_Memory_Kind_Args* args);
PJRT_Error* memory_debug_string(PJRT_Memory_DebugString_Args* args);
PJRT_Error* memory_to_string(PJRT_Memory_ToString_Args* args);
PJRT_Error* memory_addressable_by_devices(PJRT_Memory_AddressableByDevices_Args* args);
PJRT_Error* memory_kind_id(PJRT_Memory_Kind_Id_Args* args);
PJRT_Error* device_get_attributes(PJRT_Device_GetAttributes_Args* args);

// topology.cc
PJRT_Error* topology_description_create(PJRT_TopologyDescription_Create_Args* args);
PJRT_Error* topology_description_destroy(PJRT_TopologyDescription_Destroy_Args* args);
PJRT_Error* topology_description_platform_name(PJRT_TopologyDescription_PlatformName_Args* args);
PJRT_Error* topology_description_platform_version(
    PJRT_TopologyDescription_PlatformVersion_Args* args);
PJRT_Error* topology_description_get_device_descriptions(
    PJRT_TopologyDescription_GetDeviceDescriptions_Args* args);
PJRT_Error* topology_description_serialize(PJRT_TopologyDescription_Serialize_Args* args);
PJRT_Error* topology_description_attributes(PJRT_TopologyDescription_Attributes_Args* args);
PJRT_Error* topology_description_deserialize(PJRT_TopologyDescription_Deserialize_Args* args);
PJRT_Error* topology_description_fingerprint(PJRT_TopologyDescription_Fingerprint_Args* args);
PJRT_Error* topology_description_get_memory_space_kind_ids(
    PJRT_TopologyDescription_GetMemorySpaceKindIds_Args* args);

// executable.cc
PJRT_Error* client_compile(PJRT_Client_Compile_Args* args);
PJRT_Error* executable_destroy(PJRT_Executable_Destroy_Args* args);
PJRT_Error* executable_name(PJRT_Executable_Name_Args* args);
PJRT_Error* executable_num_replicas(PJRT_Executable_NumReplicas_Args* args);
PJRT_Error* executable_num_partitions(PJRT_Executable_NumPartitions_Args* args);
PJRT_Error* executable_num_outputs(PJRT_Executable_NumOutputs_Args* args);
PJRT_Error* executable_size_of_generated_code_in_bytes(
    PJRT_Executable_SizeOfGeneratedCodeInBytes_Args* args);
PJRT_Error* executable_get_cost_analysis(PJRT_Executable_GetCostAnalysis_Args* args);
PJRT_Error* executable_output_memory_kinds(PJRT_Executable_OutputMemoryKinds_Args* args);
PJRT_Error* executable_optimized_program(PJRT_Executable_OptimizedProgram_Args* args);
PJRT_Error* executable_serialize(PJRT_Executable_Serialize_Args* args);
PJRT_Error* loaded_executable_destroy(PJRT_LoadedExecutable_Destroy_Args* args);
PJRT_Error* loaded_executable_get_executable(PJRT_LoadedExecutable_GetExecutable_Args* args);
PJRT_Error* loaded_executable_addressable_devices(
    PJRT_LoadedExecutable_AddressableDevices_Args* args);
PJRT_Error* loaded_executable_delete(PJRT_LoadedExecutable_Delete_Args* args);
PJRT_Error* loaded_executable_is_deleted(PJRT_LoadedExecutable_IsDeleted_Args* args);
PJRT_Error* executable_deserialize_and_load(PJRT_Executable_DeserializeAndLoad_Args* args);
PJRT_Error* loaded_executable_fingerprint(PJRT_LoadedExecutable_Fingerprint_Args* args);
PJRT_Error* compile(PJRT_Compile_Args* args);
PJRT_Error* executable_output_element_types(PJRT_Executable_OutputElementTypes_Args* args);
PJRT_Error* executable_output_dimensions(PJRT_Executable_OutputDimensions_Args* args);
PJRT_Error* executable_fingerprint(PJRT_Executable_Fingerprint_Args* args);
PJRT_Error* executable_get_compiled_memory_stats(PJRT_Executable_GetCompiledMemoryStats_Args* args);
PJRT_Error* loaded_executable_get_device_assignment(
    PJRT_LoadedExecutable_GetDeviceAssignment_Args* args);
PJRT_Error* executable_get_compile_options(PJRT_Executable_GetCompileOptions_Args* args);
PJRT_Error* client_load(PJRT_Client_Load_Args* args);
PJRT_Error* loaded_executable_addressable_device_logical_ids(
    PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args* args);
PJRT_Error* executable_parameter_memory_kinds(PJRT_Executable_ParameterMemoryKinds_Args* args);

// execute.cc
PJRT_Error* loaded_executable_execute(PJRT_LoadedExecutable_Execute_Args* args);
PJRT_Error* execute_context_create(PJRT_ExecuteContext_Create_Args* args);
PJRT_Error* execute_context_destroy(PJRT_ExecuteContext_Destroy_Args* args);

// buffer.cc
PJRT_Error* buffer_destroy(PJRT_Buffer_Destroy_Args* args);
PJRT_Error* buffer_element_type(PJRT_Buffer_ElementType_Args* args);
PJRT_Error* buffer_dimensions(PJRT_Buffer_Dimensions_Args* args);
PJRT_Error* buffer_unpadded_dimensions(PJRT_Buffer_UnpaddedDimensions_Args* args);
PJRT_Error* buffer_dynamic_dimension_indices(PJRT_Buffer_DynamicDimensionIndices_Args* args);
PJRT_Error* buffer_get_memory_layout(PJRT_Buffer_GetMemoryLayout_Args* args);
PJRT_Error* buffer_on_device_size_in_bytes(PJRT_Buffer_OnDeviceSizeInBytes_Args* args);
PJRT_Error* buffer_device(PJRT_Buffer_Device_Args* args);
PJRT_Error* buffer_memory(PJRT_Buffer_Memory_Args* args);
PJRT_Error* buffer_delete(PJRT_Buffer_Delete_Args* args);
PJRT_Error* buffer_is_deleted(PJRT_Buffer_IsDeleted_Args* args);
PJRT_Error* buffer_is_on_cpu(PJRT_Buffer_IsOnCpu_Args* args);
PJRT_Error* buffer_ready_event(PJRT_Buffer_ReadyEvent_Args* args);
PJRT_Error* buffer_unsafe_pointer(PJRT_Buffer_UnsafePointer_Args* args);
PJRT_Error* buffer_increase_external_reference_count(
    PJRT_Buffer_IncreaseExternalReferenceCount_Args* args);
PJRT_Error* buffer_decrease_external_reference_count(
    PJRT_Buffer_DecreaseExternalReferenceCount_Args* args);
PJRT_Error* buffer_opaque_device_memory_data_pointer(
    PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args* args);

// transfer.cc
PJRT_Error* client_buffer_from_host_buffer(PJRT_Client_BufferFromHostBuffer_Args* args);
PJRT_Error* buffer_copy_to_device(PJRT_Buffer_CopyToDevice_Args* args);
PJRT_Error* buffer_to_host_buffer(PJRT_Buffer_ToHostBuffer_Args* args);
PJRT_Error* buffer_copy_to_memory(PJRT_Buffer_CopyToMemory_Args* args);
PJRT_Error* client_create_view_of_device_buffer(PJRT_Client_CreateViewOfDeviceBuffer_Args* args);
PJRT_Error* buffer_copy_raw_to_host(PJRT_Buffer_CopyRawToHost_Args* args);
PJRT_Error* client_create_uninitialized_buffer(PJRT_Client_CreateUninitializedBuffer_Args* args);
PJRT_Error* buffer_copy_raw_to_host_future(PJRT_Buffer_CopyRawToHostFuture_Args* args);

// transfer_manager.cc
PJRT_Error* transfer_manager_destroy(PJRT_AsyncHostToDeviceTransferManager_Destroy_Args* args);
PJRT_Error* transfer_manager_transfer_data(
    PJRT_AsyncHostToDeviceTransferManager_TransferData_Args* args);
PJRT_Error* client_create_buffers_for_async_host_to_device(
    PJRT_Client_CreateBuffersForAsyncHostToDevice_Args* args);
PJRT_Error* transfer_manager_retrieve_buffer(
    PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args* args);
PJRT_Error* transfer_manager_device(PJRT_AsyncHostToDeviceTransferManager_Device_Args* args);
PJRT_Error* transfer_manager_buffer_count(
    PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args* args);
PJRT_Error* transfer_manager_buffer_size(
    PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args* args);
PJRT_Error* transfer_manager_set_buffer_error(
    PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args* args);
PJRT_Error* transfer_manager_add_metadata(
    PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args* args);
PJRT_Error* transfer_manager_transfer_literal(
    PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args* args);

// pending_buffers.cc
PJRT_Error* client_create_error_buffer(PJRT_Client_CreateErrorBuffer_Args* args);
PJRT_Error* client_create_alias_buffer(PJRT_Client_CreateAliasBuffer_Args* args);
PJRT_Error* client_fulfill_alias_buffer(PJRT_Client_FulfillAliasBuffer_Args* args);
PJRT_Error* buffer_donate_with_control_dependency(
    PJRT_Buffer_DonateWithControlDependency_Args* args);
PJRT_Error* buffer_bitcast(PJRT_Buffer_Bitcast_Args* args);

// profiler.cc
PJRT_Error* device_create_async_tracking_event(PJRT_Device_CreateAsyncTrackingEvent_Args* args);
PJRT_Error* async_tracking_event_destroy(PJRT_AsyncTrackingEvent_Destroy_Args* args);

// host_memory.cc
PJRT_Error* client_dma_map(PJRT_Client_DmaMap_Args* args);
PJRT_Error* client_dma_unmap(PJRT_Client_DmaUnmap_Args* args);

}  // namespace systole::plugin
