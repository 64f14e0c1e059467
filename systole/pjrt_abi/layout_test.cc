// The layout of the PJRT C API's structs: the end of the last field is the size that struct_size
// announces, and the functions stand where every version since 0.55 has them.
#include <gtest/gtest.h>

#include <cstddef>

#include "systole/pjrt_abi/struct_size.h"

namespace systole::pjrt_abi {
namespace {

// NOLINTBEGIN(bugprone-sizeof-expression): many members are pointers
static_assert(offsetof(PJRT_Extension_Base, next) + sizeof(PJRT_Extension_Base::next) ==
              PJRT_Extension_Base_STRUCT_SIZE);
static_assert(offsetof(PJRT_Api_Version, minor_version) + sizeof(PJRT_Api_Version::minor_version) ==
              PJRT_Api_Version_STRUCT_SIZE);
static_assert(offsetof(PJRT_Error_Destroy_Args, error) + sizeof(PJRT_Error_Destroy_Args::error) ==
              PJRT_Error_Destroy_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Error_Message_Args, message_size) +
                  sizeof(PJRT_Error_Message_Args::message_size) ==
              PJRT_Error_Message_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Error_FunctionTable, for_each_payload) +
                  sizeof(PJRT_Error_FunctionTable::for_each_payload) ==
              PJRT_Error_FunctionTable_STRUCT_SIZE);
static_assert(offsetof(PJRT_Error, vtable) + sizeof(PJRT_Error::vtable) == PJRT_Error_STRUCT_SIZE);
static_assert(offsetof(PJRT_Error_GetCode_Args, code) + sizeof(PJRT_Error_GetCode_Args::code) ==
              PJRT_Error_GetCode_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Error_ForEachPayload_Args, user_arg) +
                  sizeof(PJRT_Error_ForEachPayload_Args::user_arg) ==
              PJRT_Error_ForEachPayload_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_NamedValue, value_size) + sizeof(PJRT_NamedValue::value_size) ==
              PJRT_NamedValue_STRUCT_SIZE);
static_assert(offsetof(PJRT_Plugin_Attributes_Args, num_attributes) +
                  sizeof(PJRT_Plugin_Attributes_Args::num_attributes) ==
              PJRT_Plugin_Attributes_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Event_Destroy_Args, event) + sizeof(PJRT_Event_Destroy_Args::event) ==
              PJRT_Event_Destroy_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Event_IsReady_Args, is_ready) +
                  sizeof(PJRT_Event_IsReady_Args::is_ready) ==
              PJRT_Event_IsReady_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Event_Error_Args, event) + sizeof(PJRT_Event_Error_Args::event) ==
              PJRT_Event_Error_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Event_Await_Args, event) + sizeof(PJRT_Event_Await_Args::event) ==
              PJRT_Event_Await_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Event_OnReady_Args, user_arg) +
                  sizeof(PJRT_Event_OnReady_Args::user_arg) ==
              PJRT_Event_OnReady_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Event_Create_Args, event) + sizeof(PJRT_Event_Create_Args::event) ==
              PJRT_Event_Create_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Event_Set_Args, error_message_size) +
                  sizeof(PJRT_Event_Set_Args::error_message_size) ==
              PJRT_Event_Set_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Memory_FunctionTable, set_user_data) +
                  sizeof(PJRT_Memory_FunctionTable::set_user_data) ==
              PJRT_Memory_FunctionTable_STRUCT_SIZE);
static_assert(offsetof(PJRT_Memory, vtable) + sizeof(PJRT_Memory::vtable) ==
              PJRT_Memory_STRUCT_SIZE);
static_assert(offsetof(PJRT_KeyValueGetCallback_Args, value_deleter_callback) +
                  sizeof(PJRT_KeyValueGetCallback_Args::value_deleter_callback) ==
              PJRT_KeyValueGetCallback_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_KeyValueTryGetCallback_Args, value_deleter_callback) +
                  sizeof(PJRT_KeyValueTryGetCallback_Args::value_deleter_callback) ==
              PJRT_KeyValueTryGetCallback_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_KeyValuePutCallback_Args, user_arg) +
                  sizeof(PJRT_KeyValuePutCallback_Args::user_arg) ==
              PJRT_KeyValuePutCallback_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Client_Create_Args, kv_try_get_user_arg) +
                  sizeof(PJRT_Client_Create_Args::kv_try_get_user_arg) ==
              PJRT_Client_Create_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Client_Destroy_Args, client) +
                  sizeof(PJRT_Client_Destroy_Args::client) ==
              PJRT_Client_Destroy_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Client_PlatformName_Args, platform_name_size) +
                  sizeof(PJRT_Client_PlatformName_Args::platform_name_size) ==
              PJRT_Client_PlatformName_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Client_ProcessIndex_Args, process_index) +
                  sizeof(PJRT_Client_ProcessIndex_Args::process_index) ==
              PJRT_Client_ProcessIndex_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Client_PlatformVersion_Args, platform_version_size) +
                  sizeof(PJRT_Client_PlatformVersion_Args::platform_version_size) ==
              PJRT_Client_PlatformVersion_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Client_TopologyDescription_Args, topology) +
                  sizeof(PJRT_Client_TopologyDescription_Args::topology) ==
              PJRT_Client_TopologyDescription_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Client_Devices_Args, num_devices) +
                  sizeof(PJRT_Client_Devices_Args::num_devices) ==
              PJRT_Client_Devices_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Client_AddressableDevices_Args, num_addressable_devices) +
                  sizeof(PJRT_Client_AddressableDevices_Args::num_addressable_devices) ==
              PJRT_Client_AddressableDevices_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Client_LookupDevice_Args, device) +
                  sizeof(PJRT_Client_LookupDevice_Args::device) ==
              PJRT_Client_LookupDevice_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Client_LookupAddressableDevice_Args, addressable_device) +
                  sizeof(PJRT_Client_LookupAddressableDevice_Args::addressable_device) ==
              PJRT_Client_LookupAddressableDevice_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_ProcessInfo, error_message_size) +
                  sizeof(PJRT_ProcessInfo::error_message_size) ==
              PJRT_ProcessInfo_STRUCT_SIZE);
static_assert(offsetof(PJRT_Client_UpdateGlobalProcessInfo_Args, num_process_infos) +
                  sizeof(PJRT_Client_UpdateGlobalProcessInfo_Args::num_process_infos) ==
              PJRT_Client_UpdateGlobalProcessInfo_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Client_AddressableMemories_Args, num_addressable_memories) +
                  sizeof(PJRT_Client_AddressableMemories_Args::num_addressable_memories) ==
              PJRT_Client_AddressableMemories_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Program, format_size) + sizeof(PJRT_Program::format_size) ==
              PJRT_Program_STRUCT_SIZE);
static_assert(offsetof(PJRT_Client_Compile_Args, executable) +
                  sizeof(PJRT_Client_Compile_Args::executable) ==
              PJRT_Client_Compile_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Client_Load_Args, loaded_executable) +
                  sizeof(PJRT_Client_Load_Args::loaded_executable) ==
              PJRT_Client_Load_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Client_DefaultDeviceAssignment_Args, default_assignment) +
                  sizeof(PJRT_Client_DefaultDeviceAssignment_Args::default_assignment) ==
              PJRT_Client_DefaultDeviceAssignment_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Client_DmaMap_Args, size) + sizeof(PJRT_Client_DmaMap_Args::size) ==
              PJRT_Client_DmaMap_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Client_DmaUnmap_Args, data) + sizeof(PJRT_Client_DmaUnmap_Args::data) ==
              PJRT_Client_DmaUnmap_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_AsyncHostToDeviceTransferManager_Destroy_Args, transfer_manager) +
                  sizeof(PJRT_AsyncHostToDeviceTransferManager_Destroy_Args::transfer_manager) ==
              PJRT_AsyncHostToDeviceTransferManager_Destroy_Args_STRUCT_SIZE);
static_assert(
    offsetof(PJRT_AsyncHostToDeviceTransferManager_TransferData_Args, done_with_h2d_transfer) +
        sizeof(PJRT_AsyncHostToDeviceTransferManager_TransferData_Args::done_with_h2d_transfer) ==
    PJRT_AsyncHostToDeviceTransferManager_TransferData_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args, buffer_out) +
                  sizeof(PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args::buffer_out) ==
              PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_AsyncHostToDeviceTransferManager_Device_Args, device_out) +
                  sizeof(PJRT_AsyncHostToDeviceTransferManager_Device_Args::device_out) ==
              PJRT_AsyncHostToDeviceTransferManager_Device_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args, buffer_count) +
                  sizeof(PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args::buffer_count) ==
              PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args, buffer_size) +
                  sizeof(PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args::buffer_size) ==
              PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args_STRUCT_SIZE);
static_assert(
    offsetof(PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args, error_message_size) +
        sizeof(PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args::error_message_size) ==
    PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args, num_metadata) +
                  sizeof(PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args::num_metadata) ==
              PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Buffer_MemoryLayout_Tiled, num_tiles) +
                  sizeof(PJRT_Buffer_MemoryLayout_Tiled::num_tiles) ==
              PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE);
static_assert(offsetof(PJRT_Buffer_MemoryLayout_Strides, num_byte_strides) +
                  sizeof(PJRT_Buffer_MemoryLayout_Strides::num_byte_strides) ==
              PJRT_Buffer_MemoryLayout_Strides_STRUCT_SIZE);
static_assert(offsetof(PJRT_Buffer_MemoryLayout, type) + sizeof(PJRT_Buffer_MemoryLayout::type) ==
              PJRT_Buffer_MemoryLayout_STRUCT_SIZE);
static_assert(
    offsetof(PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args, done_with_h2d_transfer) +
        sizeof(
            PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args::done_with_h2d_transfer) ==
    PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Client_CreateUninitializedBuffer_Args, buffer) +
                  sizeof(PJRT_Client_CreateUninitializedBuffer_Args::buffer) ==
              PJRT_Client_CreateUninitializedBuffer_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Client_CreateErrorBuffer_Args, num_payload) +
                  sizeof(PJRT_Client_CreateErrorBuffer_Args::num_payload) ==
              PJRT_Client_CreateErrorBuffer_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Client_CreateAliasBuffer_Args, fulfill_alias_buffer_cb) +
                  sizeof(PJRT_Client_CreateAliasBuffer_Args::fulfill_alias_buffer_cb) ==
              PJRT_Client_CreateAliasBuffer_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Client_FulfillAliasBuffer_Args, fulfill_alias_buffer_cb) +
                  sizeof(PJRT_Client_FulfillAliasBuffer_Args::fulfill_alias_buffer_cb) ==
              PJRT_Client_FulfillAliasBuffer_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Client_BufferFromHostBuffer_Args, buffer) +
                  sizeof(PJRT_Client_BufferFromHostBuffer_Args::buffer) ==
              PJRT_Client_BufferFromHostBuffer_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Client_CreateViewOfDeviceBuffer_Args, memory) +
                  sizeof(PJRT_Client_CreateViewOfDeviceBuffer_Args::memory) ==
              PJRT_Client_CreateViewOfDeviceBuffer_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_ShapeSpec, element_type) + sizeof(PJRT_ShapeSpec::element_type) ==
              PJRT_ShapeSpec_STRUCT_SIZE);
static_assert(offsetof(PJRT_Client_CreateBuffersForAsyncHostToDevice_Args, transfer_manager) +
                  sizeof(PJRT_Client_CreateBuffersForAsyncHostToDevice_Args::transfer_manager) ==
              PJRT_Client_CreateBuffersForAsyncHostToDevice_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_DeviceDescription_Id_Args, id) +
                  sizeof(PJRT_DeviceDescription_Id_Args::id) ==
              PJRT_DeviceDescription_Id_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_DeviceDescription_ProcessIndex_Args, process_index) +
                  sizeof(PJRT_DeviceDescription_ProcessIndex_Args::process_index) ==
              PJRT_DeviceDescription_ProcessIndex_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_DeviceDescription_Attributes_Args, attributes) +
                  sizeof(PJRT_DeviceDescription_Attributes_Args::attributes) ==
              PJRT_DeviceDescription_Attributes_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_DeviceDescription_Kind_Args, device_kind_size) +
                  sizeof(PJRT_DeviceDescription_Kind_Args::device_kind_size) ==
              PJRT_DeviceDescription_Kind_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_DeviceDescription_DebugString_Args, debug_string_size) +
                  sizeof(PJRT_DeviceDescription_DebugString_Args::debug_string_size) ==
              PJRT_DeviceDescription_DebugString_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_DeviceDescription_ToString_Args, to_string_size) +
                  sizeof(PJRT_DeviceDescription_ToString_Args::to_string_size) ==
              PJRT_DeviceDescription_ToString_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Device_GetDescription_Args, device_description) +
                  sizeof(PJRT_Device_GetDescription_Args::device_description) ==
              PJRT_Device_GetDescription_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Device_IsAddressable_Args, is_addressable) +
                  sizeof(PJRT_Device_IsAddressable_Args::is_addressable) ==
              PJRT_Device_IsAddressable_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Device_LocalHardwareId_Args, local_hardware_id) +
                  sizeof(PJRT_Device_LocalHardwareId_Args::local_hardware_id) ==
              PJRT_Device_LocalHardwareId_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Device_AddressableMemories_Args, num_memories) +
                  sizeof(PJRT_Device_AddressableMemories_Args::num_memories) ==
              PJRT_Device_AddressableMemories_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Device_DefaultMemory_Args, memory) +
                  sizeof(PJRT_Device_DefaultMemory_Args::memory) ==
              PJRT_Device_DefaultMemory_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Device_MemoryStats_Args, peak_pool_bytes_is_set) +
                  sizeof(PJRT_Device_MemoryStats_Args::peak_pool_bytes_is_set) ==
              PJRT_Device_MemoryStats_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Device_ClearMemoryStats_Args, device) +
                  sizeof(PJRT_Device_ClearMemoryStats_Args::device) ==
              PJRT_Device_ClearMemoryStats_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Device_PoisonExecution_Args, num_payload) +
                  sizeof(PJRT_Device_PoisonExecution_Args::num_payload) ==
              PJRT_Device_PoisonExecution_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Device_GetAttributes_Args, attributes_deleter) +
                  sizeof(PJRT_Device_GetAttributes_Args::attributes_deleter) ==
              PJRT_Device_GetAttributes_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Device_CreateAsyncTrackingEvent_Args, event) +
                  sizeof(PJRT_Device_CreateAsyncTrackingEvent_Args::event) ==
              PJRT_Device_CreateAsyncTrackingEvent_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_AsyncTrackingEvent_Destroy_Args, event) +
                  sizeof(PJRT_AsyncTrackingEvent_Destroy_Args::event) ==
              PJRT_AsyncTrackingEvent_Destroy_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Memory_Id_Args, id) + sizeof(PJRT_Memory_Id_Args::id) ==
              PJRT_Memory_Id_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Memory_Kind_Args, kind_size) +
                  sizeof(PJRT_Memory_Kind_Args::kind_size) ==
              PJRT_Memory_Kind_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Memory_Kind_Id_Args, kind_id) +
                  sizeof(PJRT_Memory_Kind_Id_Args::kind_id) ==
              PJRT_Memory_Kind_Id_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Memory_DebugString_Args, debug_string_size) +
                  sizeof(PJRT_Memory_DebugString_Args::debug_string_size) ==
              PJRT_Memory_DebugString_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Memory_ToString_Args, to_string_size) +
                  sizeof(PJRT_Memory_ToString_Args::to_string_size) ==
              PJRT_Memory_ToString_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Memory_AddressableByDevices_Args, num_devices) +
                  sizeof(PJRT_Memory_AddressableByDevices_Args::num_devices) ==
              PJRT_Memory_AddressableByDevices_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_ExecuteContext_Create_Args, context) +
                  sizeof(PJRT_ExecuteContext_Create_Args::context) ==
              PJRT_ExecuteContext_Create_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_ExecuteContext_Destroy_Args, context) +
                  sizeof(PJRT_ExecuteContext_Destroy_Args::context) ==
              PJRT_ExecuteContext_Destroy_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Executable_Destroy_Args, executable) +
                  sizeof(PJRT_Executable_Destroy_Args::executable) ==
              PJRT_Executable_Destroy_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_LoadedExecutable_Destroy_Args, executable) +
                  sizeof(PJRT_LoadedExecutable_Destroy_Args::executable) ==
              PJRT_LoadedExecutable_Destroy_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_LoadedExecutable_GetExecutable_Args, executable) +
                  sizeof(PJRT_LoadedExecutable_GetExecutable_Args::executable) ==
              PJRT_LoadedExecutable_GetExecutable_Args_STRUCT_SIZE);
static_assert(
    offsetof(PJRT_LoadedExecutable_GetDeviceAssignment_Args, serialized_device_assignment_deleter) +
        sizeof(
            PJRT_LoadedExecutable_GetDeviceAssignment_Args::serialized_device_assignment_deleter) ==
    PJRT_LoadedExecutable_GetDeviceAssignment_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Executable_Name_Args, executable_name_size) +
                  sizeof(PJRT_Executable_Name_Args::executable_name_size) ==
              PJRT_Executable_Name_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Executable_NumReplicas_Args, num_replicas) +
                  sizeof(PJRT_Executable_NumReplicas_Args::num_replicas) ==
              PJRT_Executable_NumReplicas_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Executable_NumPartitions_Args, num_partitions) +
                  sizeof(PJRT_Executable_NumPartitions_Args::num_partitions) ==
              PJRT_Executable_NumPartitions_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_LogicalDeviceIds, partition) +
                  sizeof(PJRT_LogicalDeviceIds::partition) ==
              PJRT_LogicalDeviceIds_STRUCT_SIZE);
static_assert(offsetof(PJRT_LoadedExecutable_AddressableDevices_Args, num_addressable_devices) +
                  sizeof(PJRT_LoadedExecutable_AddressableDevices_Args::num_addressable_devices) ==
              PJRT_LoadedExecutable_AddressableDevices_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args,
                       num_addressable_device_logical_ids) +
                  sizeof(PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args::
                             num_addressable_device_logical_ids) ==
              PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Executable_OptimizedProgram_Args, program) +
                  sizeof(PJRT_Executable_OptimizedProgram_Args::program) ==
              PJRT_Executable_OptimizedProgram_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_LoadedExecutable_Delete_Args, executable) +
                  sizeof(PJRT_LoadedExecutable_Delete_Args::executable) ==
              PJRT_LoadedExecutable_Delete_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_LoadedExecutable_IsDeleted_Args, is_deleted) +
                  sizeof(PJRT_LoadedExecutable_IsDeleted_Args::is_deleted) ==
              PJRT_LoadedExecutable_IsDeleted_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Chunk, deleter_arg) + sizeof(PJRT_Chunk::deleter_arg) ==
              PJRT_Chunk_STRUCT_SIZE);
static_assert(offsetof(PJRT_SendCallbackInfo, send_callback) +
                  sizeof(PJRT_SendCallbackInfo::send_callback) ==
              PJRT_SendCallbackInfo_STRUCT_SIZE);
static_assert(offsetof(PJRT_RecvCallbackInfo, recv_callback) +
                  sizeof(PJRT_RecvCallbackInfo::recv_callback) ==
              PJRT_RecvCallbackInfo_STRUCT_SIZE);
static_assert(offsetof(PJRT_HloOutputCallbackInfo, num_operands) +
                  sizeof(PJRT_HloOutputCallbackInfo::num_operands) ==
              PJRT_HloOutputCallbackInfo_STRUCT_SIZE);
static_assert(offsetof(PJRT_ExecuteOptions, num_hlo_output_callbacks) +
                  sizeof(PJRT_ExecuteOptions::num_hlo_output_callbacks) ==
              PJRT_ExecuteOptions_STRUCT_SIZE);
static_assert(offsetof(PJRT_LoadedExecutable_Execute_Args, execute_device) +
                  sizeof(PJRT_LoadedExecutable_Execute_Args::execute_device) ==
              PJRT_LoadedExecutable_Execute_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Executable_NumOutputs_Args, num_outputs) +
                  sizeof(PJRT_Executable_NumOutputs_Args::num_outputs) ==
              PJRT_Executable_NumOutputs_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Executable_SizeOfGeneratedCodeInBytes_Args, size_in_bytes) +
                  sizeof(PJRT_Executable_SizeOfGeneratedCodeInBytes_Args::size_in_bytes) ==
              PJRT_Executable_SizeOfGeneratedCodeInBytes_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Executable_Fingerprint_Args, executable_fingerprint_size) +
                  sizeof(PJRT_Executable_Fingerprint_Args::executable_fingerprint_size) ==
              PJRT_Executable_Fingerprint_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Executable_GetCostAnalysis_Args, properties) +
                  sizeof(PJRT_Executable_GetCostAnalysis_Args::properties) ==
              PJRT_Executable_GetCostAnalysis_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Executable_GetCompiledMemoryStats_Args, peak_unpadded_heap_bytes) +
                  sizeof(PJRT_Executable_GetCompiledMemoryStats_Args::peak_unpadded_heap_bytes) ==
              PJRT_Executable_GetCompiledMemoryStats_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Executable_OutputElementTypes_Args, num_output_types) +
                  sizeof(PJRT_Executable_OutputElementTypes_Args::num_output_types) ==
              PJRT_Executable_OutputElementTypes_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Executable_OutputDimensions_Args, dim_sizes) +
                  sizeof(PJRT_Executable_OutputDimensions_Args::dim_sizes) ==
              PJRT_Executable_OutputDimensions_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Executable_ParameterMemoryKinds_Args, memory_kind_sizes) +
                  sizeof(PJRT_Executable_ParameterMemoryKinds_Args::memory_kind_sizes) ==
              PJRT_Executable_ParameterMemoryKinds_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Executable_OutputMemoryKinds_Args, memory_kind_sizes) +
                  sizeof(PJRT_Executable_OutputMemoryKinds_Args::memory_kind_sizes) ==
              PJRT_Executable_OutputMemoryKinds_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Executable_Serialize_Args, serialized_executable_deleter) +
                  sizeof(PJRT_Executable_Serialize_Args::serialized_executable_deleter) ==
              PJRT_Executable_Serialize_Args_STRUCT_SIZE);
static_assert(
    offsetof(PJRT_Executable_GetCompileOptions_Args, serialized_compile_options_deleter) +
        sizeof(PJRT_Executable_GetCompileOptions_Args::serialized_compile_options_deleter) ==
    PJRT_Executable_GetCompileOptions_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_LoadOptions, multi_slice_config) +
                  sizeof(PJRT_LoadOptions::multi_slice_config) ==
              PJRT_LoadOptions_STRUCT_SIZE);
static_assert(offsetof(PJRT_Executable_DeserializeAndLoad_Args, load_options) +
                  sizeof(PJRT_Executable_DeserializeAndLoad_Args::load_options) ==
              PJRT_Executable_DeserializeAndLoad_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_LoadedExecutable_Fingerprint_Args, executable_fingerprint_size) +
                  sizeof(PJRT_LoadedExecutable_Fingerprint_Args::executable_fingerprint_size) ==
              PJRT_LoadedExecutable_Fingerprint_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Buffer_Destroy_Args, buffer) +
                  sizeof(PJRT_Buffer_Destroy_Args::buffer) ==
              PJRT_Buffer_Destroy_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Buffer_ElementType_Args, type) +
                  sizeof(PJRT_Buffer_ElementType_Args::type) ==
              PJRT_Buffer_ElementType_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Buffer_Dimensions_Args, num_dims) +
                  sizeof(PJRT_Buffer_Dimensions_Args::num_dims) ==
              PJRT_Buffer_Dimensions_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Buffer_UnpaddedDimensions_Args, num_dims) +
                  sizeof(PJRT_Buffer_UnpaddedDimensions_Args::num_dims) ==
              PJRT_Buffer_UnpaddedDimensions_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Buffer_DynamicDimensionIndices_Args, num_dynamic_dims) +
                  sizeof(PJRT_Buffer_DynamicDimensionIndices_Args::num_dynamic_dims) ==
              PJRT_Buffer_DynamicDimensionIndices_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Buffer_GetMemoryLayout_Args, layout) +
                  sizeof(PJRT_Buffer_GetMemoryLayout_Args::layout) ==
              PJRT_Buffer_GetMemoryLayout_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Buffer_ToHostBuffer_Args, event) +
                  sizeof(PJRT_Buffer_ToHostBuffer_Args::event) ==
              PJRT_Buffer_ToHostBuffer_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Buffer_OnDeviceSizeInBytes_Args, on_device_size_in_bytes) +
                  sizeof(PJRT_Buffer_OnDeviceSizeInBytes_Args::on_device_size_in_bytes) ==
              PJRT_Buffer_OnDeviceSizeInBytes_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Buffer_Delete_Args, buffer) + sizeof(PJRT_Buffer_Delete_Args::buffer) ==
              PJRT_Buffer_Delete_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Buffer_IsDeleted_Args, is_deleted) +
                  sizeof(PJRT_Buffer_IsDeleted_Args::is_deleted) ==
              PJRT_Buffer_IsDeleted_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Buffer_CopyRawToHost_Args, event) +
                  sizeof(PJRT_Buffer_CopyRawToHost_Args::event) ==
              PJRT_Buffer_CopyRawToHost_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Buffer_CopyRawToHostFuture_Callback_Args, dst) +
                  sizeof(PJRT_Buffer_CopyRawToHostFuture_Callback_Args::dst) ==
              PJRT_Buffer_CopyRawToHostFuture_Callback_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Buffer_CopyRawToHostFuture_Args, future_ready_callback) +
                  sizeof(PJRT_Buffer_CopyRawToHostFuture_Args::future_ready_callback) ==
              PJRT_Buffer_CopyRawToHostFuture_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Buffer_CopyToDevice_Args, dst_buffer) +
                  sizeof(PJRT_Buffer_CopyToDevice_Args::dst_buffer) ==
              PJRT_Buffer_CopyToDevice_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Buffer_CopyToMemory_Args, dst_buffer) +
                  sizeof(PJRT_Buffer_CopyToMemory_Args::dst_buffer) ==
              PJRT_Buffer_CopyToMemory_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Buffer_Bitcast_Args, out_buffer) +
                  sizeof(PJRT_Buffer_Bitcast_Args::out_buffer) ==
              PJRT_Buffer_Bitcast_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Buffer_IsOnCpu_Args, is_on_cpu) +
                  sizeof(PJRT_Buffer_IsOnCpu_Args::is_on_cpu) ==
              PJRT_Buffer_IsOnCpu_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Buffer_Device_Args, device) + sizeof(PJRT_Buffer_Device_Args::device) ==
              PJRT_Buffer_Device_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Buffer_Memory_Args, memory) + sizeof(PJRT_Buffer_Memory_Args::memory) ==
              PJRT_Buffer_Memory_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Buffer_ReadyEvent_Args, event) +
                  sizeof(PJRT_Buffer_ReadyEvent_Args::event) ==
              PJRT_Buffer_ReadyEvent_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Buffer_UnsafePointer_Args, buffer_pointer) +
                  sizeof(PJRT_Buffer_UnsafePointer_Args::buffer_pointer) ==
              PJRT_Buffer_UnsafePointer_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Buffer_IncreaseExternalReferenceCount_Args, buffer) +
                  sizeof(PJRT_Buffer_IncreaseExternalReferenceCount_Args::buffer) ==
              PJRT_Buffer_IncreaseExternalReferenceCount_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Buffer_DecreaseExternalReferenceCount_Args, buffer) +
                  sizeof(PJRT_Buffer_DecreaseExternalReferenceCount_Args::buffer) ==
              PJRT_Buffer_DecreaseExternalReferenceCount_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args, device_memory_ptr) +
                  sizeof(PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args::device_memory_ptr) ==
              PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args_STRUCT_SIZE);
static_assert(
    offsetof(PJRT_Buffer_DonateWithControlDependency_Callback_Args, error_message_size) +
        sizeof(PJRT_Buffer_DonateWithControlDependency_Callback_Args::error_message_size) ==
    PJRT_Buffer_DonateWithControlDependency_Callback_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Buffer_DonateWithControlDependency_Args, out_buffer) +
                  sizeof(PJRT_Buffer_DonateWithControlDependency_Args::out_buffer) ==
              PJRT_Buffer_DonateWithControlDependency_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_CopyToDeviceStream_Destroy_Args, stream) +
                  sizeof(PJRT_CopyToDeviceStream_Destroy_Args::stream) ==
              PJRT_CopyToDeviceStream_Destroy_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_CopyToDeviceStream_AddChunk_Args, transfer_complete) +
                  sizeof(PJRT_CopyToDeviceStream_AddChunk_Args::transfer_complete) ==
              PJRT_CopyToDeviceStream_AddChunk_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_CopyToDeviceStream_TotalBytes_Args, total_bytes) +
                  sizeof(PJRT_CopyToDeviceStream_TotalBytes_Args::total_bytes) ==
              PJRT_CopyToDeviceStream_TotalBytes_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_CopyToDeviceStream_GranuleSize_Args, granule_size_in_bytes) +
                  sizeof(PJRT_CopyToDeviceStream_GranuleSize_Args::granule_size_in_bytes) ==
              PJRT_CopyToDeviceStream_GranuleSize_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_CopyToDeviceStream_CurrentBytes_Args, current_bytes) +
                  sizeof(PJRT_CopyToDeviceStream_CurrentBytes_Args::current_bytes) ==
              PJRT_CopyToDeviceStream_CurrentBytes_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_TopologyDescription_Create_Args, topology) +
                  sizeof(PJRT_TopologyDescription_Create_Args::topology) ==
              PJRT_TopologyDescription_Create_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_TopologyDescription_Destroy_Args, topology) +
                  sizeof(PJRT_TopologyDescription_Destroy_Args::topology) ==
              PJRT_TopologyDescription_Destroy_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_TopologyDescription_PlatformVersion_Args, platform_version_size) +
                  sizeof(PJRT_TopologyDescription_PlatformVersion_Args::platform_version_size) ==
              PJRT_TopologyDescription_PlatformVersion_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_TopologyDescription_PlatformName_Args, platform_name_size) +
                  sizeof(PJRT_TopologyDescription_PlatformName_Args::platform_name_size) ==
              PJRT_TopologyDescription_PlatformName_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_TopologyDescription_GetDeviceDescriptions_Args, num_descriptions) +
                  sizeof(PJRT_TopologyDescription_GetDeviceDescriptions_Args::num_descriptions) ==
              PJRT_TopologyDescription_GetDeviceDescriptions_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_TopologyDescription_Serialize_Args, serialized_topology_deleter) +
                  sizeof(PJRT_TopologyDescription_Serialize_Args::serialized_topology_deleter) ==
              PJRT_TopologyDescription_Serialize_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_TopologyDescription_Deserialize_Args, topology) +
                  sizeof(PJRT_TopologyDescription_Deserialize_Args::topology) ==
              PJRT_TopologyDescription_Deserialize_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_TopologyDescription_Attributes_Args, num_attributes) +
                  sizeof(PJRT_TopologyDescription_Attributes_Args::num_attributes) ==
              PJRT_TopologyDescription_Attributes_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_TopologyDescription_Fingerprint_Args, fingerprint) +
                  sizeof(PJRT_TopologyDescription_Fingerprint_Args::fingerprint) ==
              PJRT_TopologyDescription_Fingerprint_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args,
                       serialized_shape_deleter) +
                  sizeof(PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args::
                             serialized_shape_deleter) ==
              PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args_STRUCT_SIZE);
static_assert(
    offsetof(PJRT_TopologyDescription_GetMemorySpaceKindIds_Args, num_memory_space_kind_ids) +
        sizeof(PJRT_TopologyDescription_GetMemorySpaceKindIds_Args::num_memory_space_kind_ids) ==
    PJRT_TopologyDescription_GetMemorySpaceKindIds_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Compile_Args, executable) + sizeof(PJRT_Compile_Args::executable) ==
              PJRT_Compile_Args_STRUCT_SIZE);
static_assert(offsetof(PJRT_Api, PJRT_TopologyDescription_GetMemorySpaceKindIds) +
                  sizeof(PJRT_Api::PJRT_TopologyDescription_GetMemorySpaceKindIds) ==
              PJRT_Api_STRUCT_SIZE);
// NOLINTEND(bugprone-sizeof-expression)

TEST(PjrtAbi, PlacesFunctionsWherePluginsHaveThem) {
  EXPECT_EQ(offsetof(PJRT_Api, PJRT_Error_Destroy), 40);
  EXPECT_EQ(offsetof(PJRT_Api, PJRT_Client_Create), 120);
  EXPECT_EQ(offsetof(PJRT_Api, PJRT_Client_BufferFromHostBuffer), 216);
  EXPECT_EQ(offsetof(PJRT_Api, PJRT_Memory_AddressableByDevices), 352);
  EXPECT_EQ(offsetof(PJRT_Api, PJRT_LoadedExecutable_Execute), 480);
  EXPECT_EQ(offsetof(PJRT_Api, PJRT_Buffer_ToHostBuffer), 600);
  EXPECT_EQ(offsetof(PJRT_Api, PJRT_Compile), 752);
  EXPECT_EQ(offsetof(PJRT_Api, PJRT_Client_CreateViewOfDeviceBuffer), 784);
  EXPECT_EQ(offsetof(PJRT_Api, PJRT_Client_DmaMap), 920);
  EXPECT_EQ(offsetof(PJRT_Api, PJRT_LoadedExecutable_GetDeviceAssignment), 976);
  EXPECT_EQ(offsetof(PJRT_Api, PJRT_Device_GetAttributes), 1064);
  EXPECT_EQ(offsetof(PJRT_Api, PJRT_TopologyDescription_GetMemorySpaceKindIds), 1136);
}

TEST(PjrtAbi, PlacesFieldsOnTheHotPath) {
  EXPECT_EQ(offsetof(PJRT_Client_BufferFromHostBuffer_Args, host_buffer_semantics), 72);
  EXPECT_EQ(offsetof(PJRT_Client_BufferFromHostBuffer_Args, buffer), 112);
  EXPECT_EQ(offsetof(PJRT_LoadedExecutable_Execute_Args, output_lists), 56);
  EXPECT_EQ(offsetof(PJRT_ExecuteOptions, non_donatable_input_indices), 56);
  EXPECT_EQ(offsetof(PJRT_ExecuteOptions, call_location), 80);
  EXPECT_EQ(offsetof(PJRT_NamedValue, string_value), 40);
  EXPECT_EQ(offsetof(PJRT_NamedValue, bool_value), 40);
  EXPECT_EQ(offsetof(PJRT_Buffer_MemoryLayout, type), 72);
  EXPECT_EQ(offsetof(PJRT_Error_FunctionTable, destroy), 24);
}

}  // namespace
}  // namespace systole::pjrt_abi
