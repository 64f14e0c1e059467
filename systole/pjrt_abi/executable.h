// The PJRT C API: compiled programs.
#pragma once

#include "systole/pjrt_abi/transfer.h"

// NOLINTBEGIN(readability-identifier-naming,modernize-use-using,modernize-deprecated-headers)

#ifdef __cplusplus
extern "C" {
#endif

// format is "mlir" (StableHLO text or MLIR bytecode), "hlo" or "hlo_with_config" (HloModuleProto).
typedef struct PJRT_Program {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  char* code;  // in and out
  size_t code_size;
  const char* format;
  size_t format_size;
} PJRT_Program;
enum { PJRT_Program_STRUCT_SIZE = 48 };

typedef struct PJRT_Client_Compile_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Client* client;
  const PJRT_Program* program;
  const char* compile_options;
  size_t compile_options_size;
  PJRT_LoadedExecutable* executable;  // out
} PJRT_Client_Compile_Args;
enum { PJRT_Client_Compile_Args_STRUCT_SIZE = 56 };

typedef struct PJRT_Client_Load_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Client* client;
  PJRT_Executable* executable;
  const char* compile_options;
  size_t compile_options_size;
  PJRT_LoadedExecutable* loaded_executable;  // out
} PJRT_Client_Load_Args;
enum { PJRT_Client_Load_Args_STRUCT_SIZE = 56 };

typedef struct PJRT_ExecuteContext_Create_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_ExecuteContext* context;  // out
} PJRT_ExecuteContext_Create_Args;
enum { PJRT_ExecuteContext_Create_Args_STRUCT_SIZE = 24 };

typedef struct PJRT_ExecuteContext_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_ExecuteContext* context;
} PJRT_ExecuteContext_Destroy_Args;
enum { PJRT_ExecuteContext_Destroy_Args_STRUCT_SIZE = 24 };

typedef struct PJRT_Executable_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Executable* executable;
} PJRT_Executable_Destroy_Args;
enum { PJRT_Executable_Destroy_Args_STRUCT_SIZE = 24 };

typedef struct PJRT_LoadedExecutable_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_LoadedExecutable* executable;
} PJRT_LoadedExecutable_Destroy_Args;
enum { PJRT_LoadedExecutable_Destroy_Args_STRUCT_SIZE = 24 };

typedef struct PJRT_LoadedExecutable_GetExecutable_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_LoadedExecutable* loaded_executable;
  PJRT_Executable* executable;  // out
} PJRT_LoadedExecutable_GetExecutable_Args;
enum { PJRT_LoadedExecutable_GetExecutable_Args_STRUCT_SIZE = 32 };

typedef struct PJRT_LoadedExecutable_GetDeviceAssignment_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_LoadedExecutable* executable;
  const char* serialized_bytes;  // out
  size_t serialized_bytes_size;  // out
  PJRT_DeviceAssignmentSerialized* serialized_device_assignment;
  void (*serialized_device_assignment_deleter)(PJRT_DeviceAssignmentSerialized* assignment);
} PJRT_LoadedExecutable_GetDeviceAssignment_Args;
enum { PJRT_LoadedExecutable_GetDeviceAssignment_Args_STRUCT_SIZE = 56 };

typedef struct PJRT_Executable_Name_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Executable* executable;
  const char* executable_name;  // out
  size_t executable_name_size;  // out
} PJRT_Executable_Name_Args;
enum { PJRT_Executable_Name_Args_STRUCT_SIZE = 40 };

typedef struct PJRT_Executable_NumReplicas_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Executable* executable;
  size_t num_replicas;  // out
} PJRT_Executable_NumReplicas_Args;
enum { PJRT_Executable_NumReplicas_Args_STRUCT_SIZE = 32 };

typedef struct PJRT_Executable_NumPartitions_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Executable* executable;
  size_t num_partitions;  // out
} PJRT_Executable_NumPartitions_Args;
enum { PJRT_Executable_NumPartitions_Args_STRUCT_SIZE = 32 };

typedef struct PJRT_LogicalDeviceIds {
  int replica;
  int partition;
} PJRT_LogicalDeviceIds;
enum { PJRT_LogicalDeviceIds_STRUCT_SIZE = 8 };

typedef struct PJRT_LoadedExecutable_AddressableDevices_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_LoadedExecutable* executable;
  PJRT_Device* const* addressable_devices;  // out
  size_t num_addressable_devices;           // out
} PJRT_LoadedExecutable_AddressableDevices_Args;
enum { PJRT_LoadedExecutable_AddressableDevices_Args_STRUCT_SIZE = 40 };

typedef struct PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_LoadedExecutable* executable;
  PJRT_LogicalDeviceIds* addressable_device_logical_ids;  // out
  size_t num_addressable_device_logical_ids;              // out
} PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args;
enum { PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args_STRUCT_SIZE = 40 };

// The caller calls it twice. With program->code NULL the plugin only sets program->code_size. The
// second time program->code points to that many bytes, which the plugin fills.
typedef struct PJRT_Executable_OptimizedProgram_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Executable* executable;
  PJRT_Program* program;  // out
} PJRT_Executable_OptimizedProgram_Args;
enum { PJRT_Executable_OptimizedProgram_Args_STRUCT_SIZE = 32 };

typedef struct PJRT_LoadedExecutable_Delete_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_LoadedExecutable* executable;
} PJRT_LoadedExecutable_Delete_Args;
enum { PJRT_LoadedExecutable_Delete_Args_STRUCT_SIZE = 24 };

typedef struct PJRT_LoadedExecutable_IsDeleted_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_LoadedExecutable* executable;
  bool is_deleted;  // out
} PJRT_LoadedExecutable_IsDeleted_Args;
enum { PJRT_LoadedExecutable_IsDeleted_Args_STRUCT_SIZE = 25 };

typedef struct PJRT_ExecuteOptions {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_SendCallbackInfo** send_callbacks;
  PJRT_RecvCallbackInfo** recv_callbacks;
  size_t num_send_ops;
  size_t num_recv_ops;
  int launch_id;
  const int64_t* non_donatable_input_indices;
  size_t num_non_donatable_input_indices;
  PJRT_ExecuteContext* context;
  const char* call_location;
  size_t num_tasks;
  int* task_ids;
  int64_t* incarnation_ids;
  PJRT_MultiSlice_Config* multi_slice_config;
  bool use_major_to_minor_data_layout_for_callbacks;
  PJRT_HloOutputCallbackInfo* hlo_output_callbacks;
  size_t num_hlo_output_callbacks;
} PJRT_ExecuteOptions;
enum { PJRT_ExecuteOptions_STRUCT_SIZE = 144 };

// argument_lists has num_devices lists of num_args buffers, output_lists num_devices lists that are
// filled with new buffers. device_complete_events is NULL, or filled with num_devices events. With
// execute_device, num_devices is 1 and the program runs on that device.
typedef struct PJRT_LoadedExecutable_Execute_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_LoadedExecutable* executable;
  PJRT_ExecuteOptions* options;
  PJRT_Buffer* const* const* argument_lists;
  size_t num_devices;
  size_t num_args;
  PJRT_Buffer** const* output_lists;    // in and out
  PJRT_Event** device_complete_events;  // in and out
  PJRT_Device* execute_device;
} PJRT_LoadedExecutable_Execute_Args;
enum { PJRT_LoadedExecutable_Execute_Args_STRUCT_SIZE = 80 };

typedef struct PJRT_Executable_NumOutputs_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Executable* executable;
  size_t num_outputs;  // out
} PJRT_Executable_NumOutputs_Args;
enum { PJRT_Executable_NumOutputs_Args_STRUCT_SIZE = 32 };

typedef struct PJRT_Executable_SizeOfGeneratedCodeInBytes_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Executable* executable;
  int64_t size_in_bytes;  // out
} PJRT_Executable_SizeOfGeneratedCodeInBytes_Args;
enum { PJRT_Executable_SizeOfGeneratedCodeInBytes_Args_STRUCT_SIZE = 32 };

typedef struct PJRT_Executable_Fingerprint_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Executable* executable;
  const char* executable_fingerprint;  // out
  size_t executable_fingerprint_size;  // out
} PJRT_Executable_Fingerprint_Args;
enum { PJRT_Executable_Fingerprint_Args_STRUCT_SIZE = 40 };

typedef struct PJRT_Executable_GetCostAnalysis_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Executable* executable;
  size_t num_properties;              // out
  const PJRT_NamedValue* properties;  // out
} PJRT_Executable_GetCostAnalysis_Args;
enum { PJRT_Executable_GetCostAnalysis_Args_STRUCT_SIZE = 40 };

typedef struct PJRT_Executable_GetCompiledMemoryStats_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Executable* executable;
  int64_t generated_code_size_in_bytes;       // out
  int64_t argument_size_in_bytes;             // out
  int64_t output_size_in_bytes;               // out
  int64_t alias_size_in_bytes;                // out
  int64_t temp_size_in_bytes;                 // out
  int64_t host_generated_code_size_in_bytes;  // out
  int64_t host_argument_size_in_bytes;        // out
  int64_t host_output_size_in_bytes;          // out
  int64_t host_alias_size_in_bytes;           // out
  int64_t host_temp_size_in_bytes;            // out
  int64_t peak_memory_in_bytes;               // out
  int64_t total_size_in_bytes;                // out
  int64_t total_allocation_bytes;             // out
  int64_t indefinite_allocations;             // out
  int64_t peak_unpadded_heap_bytes;           // out
} PJRT_Executable_GetCompiledMemoryStats_Args;
enum { PJRT_Executable_GetCompiledMemoryStats_Args_STRUCT_SIZE = 144 };

typedef struct PJRT_Executable_OutputElementTypes_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Executable* executable;
  PJRT_Buffer_Type* output_types;  // out
  size_t num_output_types;         // out
} PJRT_Executable_OutputElementTypes_Args;
enum { PJRT_Executable_OutputElementTypes_Args_STRUCT_SIZE = 40 };

typedef struct PJRT_Executable_OutputDimensions_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Executable* executable;
  size_t num_outputs;
  const int64_t* dims;      // out
  const size_t* dim_sizes;  // out
} PJRT_Executable_OutputDimensions_Args;
enum { PJRT_Executable_OutputDimensions_Args_STRUCT_SIZE = 48 };

typedef struct PJRT_Executable_ParameterMemoryKinds_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Executable* executable;
  size_t num_parameters;
  const char* const* memory_kinds;  // out
  const size_t* memory_kind_sizes;  // out
} PJRT_Executable_ParameterMemoryKinds_Args;
enum { PJRT_Executable_ParameterMemoryKinds_Args_STRUCT_SIZE = 48 };

typedef struct PJRT_Executable_OutputMemoryKinds_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Executable* executable;
  size_t num_outputs;
  const char* const* memory_kinds;  // out
  const size_t* memory_kind_sizes;  // out
} PJRT_Executable_OutputMemoryKinds_Args;
enum { PJRT_Executable_OutputMemoryKinds_Args_STRUCT_SIZE = 48 };

typedef struct PJRT_Executable_Serialize_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const PJRT_Executable* executable;
  const char* serialized_bytes;  // out
  size_t serialized_bytes_size;  // out
  PJRT_SerializedExecutable* serialized_executable;
  void (*serialized_executable_deleter)(PJRT_SerializedExecutable* executable);
} PJRT_Executable_Serialize_Args;
enum { PJRT_Executable_Serialize_Args_STRUCT_SIZE = 56 };

typedef struct PJRT_Executable_GetCompileOptions_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Executable* executable;
  const char* serialized_bytes;  // out
  size_t serialized_bytes_size;  // out
  PJRT_SerializedCompileOptions* serialized_compile_options;
  void (*serialized_compile_options_deleter)(PJRT_SerializedCompileOptions* options);
} PJRT_Executable_GetCompileOptions_Args;
enum { PJRT_Executable_GetCompileOptions_Args_STRUCT_SIZE = 56 };

typedef struct PJRT_LoadOptions {
  size_t struct_size;
  const int32_t* computation_origin;
  size_t computation_origin_size;
  PJRT_MultiSlice_Config* multi_slice_config;
} PJRT_LoadOptions;
enum { PJRT_LoadOptions_STRUCT_SIZE = 32 };

typedef struct PJRT_Executable_DeserializeAndLoad_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Client* client;
  const char* serialized_executable;
  size_t serialized_executable_size;
  PJRT_LoadedExecutable* loaded_executable;  // out
  const char* overridden_serialized_compile_options;
  size_t overridden_serialized_compile_options_size;
  PJRT_LoadOptions* load_options;
} PJRT_Executable_DeserializeAndLoad_Args;
enum { PJRT_Executable_DeserializeAndLoad_Args_STRUCT_SIZE = 72 };

typedef struct PJRT_LoadedExecutable_Fingerprint_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_LoadedExecutable* executable;
  const char* executable_fingerprint;  // out
  size_t executable_fingerprint_size;  // out
} PJRT_LoadedExecutable_Fingerprint_Args;
enum { PJRT_LoadedExecutable_Fingerprint_Args_STRUCT_SIZE = 40 };

typedef struct PJRT_Compile_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const PJRT_TopologyDescription* topology;
  const PJRT_Program* program;
  const char* compile_options;
  size_t compile_options_size;
  PJRT_Client* client;
  PJRT_Executable* executable;  // out
} PJRT_Compile_Args;
enum { PJRT_Compile_Args_STRUCT_SIZE = 64 };

#ifdef __cplusplus
}
#endif

// NOLINTEND(readability-identifier-naming,modernize-use-using,modernize-deprecated-headers)
