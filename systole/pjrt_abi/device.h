// The PJRT C API: devices, memories, topologies.
#pragma once

#include "systole/pjrt_abi/buffer.h"

// NOLINTBEGIN(readability-identifier-naming,modernize-use-using,modernize-deprecated-headers)

#ifdef __cplusplus
extern "C" {
#endif

typedef struct PJRT_Memory_FunctionTable {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  size_t instance_struct_size;
  void* (*get_user_data)(PJRT_Memory* memory, const void* key);
  void (*set_user_data)(PJRT_Memory* memory, const void* key, void* data,
                        void (*destructor)(void*));
} PJRT_Memory_FunctionTable;
enum { PJRT_Memory_FunctionTable_STRUCT_SIZE = 40 };

// Since 0.112. Memories of plugins before it are opaque.
struct PJRT_Memory {
  const struct PJRT_Memory_FunctionTable* vtable;
};
enum { PJRT_Memory_STRUCT_SIZE = 8 };

typedef struct PJRT_DeviceDescription_Id_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_DeviceDescription* device_description;
  int id;  // out
} PJRT_DeviceDescription_Id_Args;
enum { PJRT_DeviceDescription_Id_Args_STRUCT_SIZE = 28 };

typedef struct PJRT_DeviceDescription_ProcessIndex_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_DeviceDescription* device_description;
  int process_index;  // out
} PJRT_DeviceDescription_ProcessIndex_Args;
enum { PJRT_DeviceDescription_ProcessIndex_Args_STRUCT_SIZE = 28 };

typedef struct PJRT_DeviceDescription_Attributes_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_DeviceDescription* device_description;
  size_t num_attributes;              // out
  const PJRT_NamedValue* attributes;  // out
} PJRT_DeviceDescription_Attributes_Args;
enum { PJRT_DeviceDescription_Attributes_Args_STRUCT_SIZE = 40 };

typedef struct PJRT_DeviceDescription_Kind_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_DeviceDescription* device_description;
  const char* device_kind;  // out
  size_t device_kind_size;  // out
} PJRT_DeviceDescription_Kind_Args;
enum { PJRT_DeviceDescription_Kind_Args_STRUCT_SIZE = 40 };

typedef struct PJRT_DeviceDescription_DebugString_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_DeviceDescription* device_description;
  const char* debug_string;  // out
  size_t debug_string_size;  // out
} PJRT_DeviceDescription_DebugString_Args;
enum { PJRT_DeviceDescription_DebugString_Args_STRUCT_SIZE = 40 };

typedef struct PJRT_DeviceDescription_ToString_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_DeviceDescription* device_description;
  const char* to_string;  // out
  size_t to_string_size;  // out
} PJRT_DeviceDescription_ToString_Args;
enum { PJRT_DeviceDescription_ToString_Args_STRUCT_SIZE = 40 };

typedef struct PJRT_Device_GetDescription_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Device* device;
  PJRT_DeviceDescription* device_description;  // out
} PJRT_Device_GetDescription_Args;
enum { PJRT_Device_GetDescription_Args_STRUCT_SIZE = 32 };

typedef struct PJRT_Device_IsAddressable_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Device* device;
  bool is_addressable;  // out
} PJRT_Device_IsAddressable_Args;
enum { PJRT_Device_IsAddressable_Args_STRUCT_SIZE = 25 };

typedef struct PJRT_Device_LocalHardwareId_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Device* device;
  int local_hardware_id;  // out
} PJRT_Device_LocalHardwareId_Args;
enum { PJRT_Device_LocalHardwareId_Args_STRUCT_SIZE = 28 };

typedef struct PJRT_Device_AddressableMemories_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Device* device;
  PJRT_Memory* const* memories;  // out
  size_t num_memories;           // out
} PJRT_Device_AddressableMemories_Args;
enum { PJRT_Device_AddressableMemories_Args_STRUCT_SIZE = 40 };

typedef struct PJRT_Device_DefaultMemory_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Device* device;
  PJRT_Memory* memory;  // out
} PJRT_Device_DefaultMemory_Args;
enum { PJRT_Device_DefaultMemory_Args_STRUCT_SIZE = 32 };

typedef struct PJRT_Device_MemoryStats_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Device* device;
  int64_t bytes_in_use;                  // out
  int64_t peak_bytes_in_use;             // out
  bool peak_bytes_in_use_is_set;         // out
  int64_t num_allocs;                    // out
  bool num_allocs_is_set;                // out
  int64_t largest_alloc_size;            // out
  bool largest_alloc_size_is_set;        // out
  int64_t bytes_limit;                   // out
  bool bytes_limit_is_set;               // out
  int64_t bytes_reserved;                // out
  bool bytes_reserved_is_set;            // out
  int64_t peak_bytes_reserved;           // out
  bool peak_bytes_reserved_is_set;       // out
  int64_t bytes_reservable_limit;        // out
  bool bytes_reservable_limit_is_set;    // out
  int64_t largest_free_block_bytes;      // out
  bool largest_free_block_bytes_is_set;  // out
  int64_t pool_bytes;                    // out
  bool pool_bytes_is_set;                // out
  int64_t peak_pool_bytes;               // out
  bool peak_pool_bytes_is_set;           // out
} PJRT_Device_MemoryStats_Args;
enum { PJRT_Device_MemoryStats_Args_STRUCT_SIZE = 185 };

typedef struct PJRT_Device_ClearMemoryStats_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Device* device;
} PJRT_Device_ClearMemoryStats_Args;
enum { PJRT_Device_ClearMemoryStats_Args_STRUCT_SIZE = 24 };

typedef struct PJRT_Device_PoisonExecution_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Device* device;
  int32_t launch_id;
  PJRT_Error_Code error_code;
  const char* error_message;
  size_t error_message_size;
  bool poisoned;  // out
  const PJRT_NamedValue* payload;
  size_t num_payload;
} PJRT_Device_PoisonExecution_Args;
enum { PJRT_Device_PoisonExecution_Args_STRUCT_SIZE = 72 };

typedef struct PJRT_Device_GetAttributes_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Device* device;
  const PJRT_NamedValue* attributes;          // out
  size_t num_attributes;                      // out
  PJRT_Device_Attributes* device_attributes;  // out
  void (*attributes_deleter)(PJRT_Device_Attributes* attributes);
} PJRT_Device_GetAttributes_Args;
enum { PJRT_Device_GetAttributes_Args_STRUCT_SIZE = 56 };

typedef struct PJRT_Device_CreateAsyncTrackingEvent_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Device* device;
  const char* description;
  size_t description_size;
  PJRT_AsyncTrackingEvent* event;  // out
} PJRT_Device_CreateAsyncTrackingEvent_Args;
enum { PJRT_Device_CreateAsyncTrackingEvent_Args_STRUCT_SIZE = 48 };

typedef struct PJRT_AsyncTrackingEvent_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_AsyncTrackingEvent* event;
} PJRT_AsyncTrackingEvent_Destroy_Args;
enum { PJRT_AsyncTrackingEvent_Destroy_Args_STRUCT_SIZE = 24 };

typedef struct PJRT_Memory_Id_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Memory* memory;
  int id;  // out
} PJRT_Memory_Id_Args;
enum { PJRT_Memory_Id_Args_STRUCT_SIZE = 28 };

typedef struct PJRT_Memory_Kind_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Memory* memory;
  const char* kind;  // out
  size_t kind_size;  // out
} PJRT_Memory_Kind_Args;
enum { PJRT_Memory_Kind_Args_STRUCT_SIZE = 40 };

typedef struct PJRT_Memory_Kind_Id_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Memory* memory;
  int kind_id;  // out
} PJRT_Memory_Kind_Id_Args;
enum { PJRT_Memory_Kind_Id_Args_STRUCT_SIZE = 28 };

typedef struct PJRT_Memory_DebugString_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Memory* memory;
  const char* debug_string;  // out
  size_t debug_string_size;  // out
} PJRT_Memory_DebugString_Args;
enum { PJRT_Memory_DebugString_Args_STRUCT_SIZE = 40 };

typedef struct PJRT_Memory_ToString_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Memory* memory;
  const char* to_string;  // out
  size_t to_string_size;  // out
} PJRT_Memory_ToString_Args;
enum { PJRT_Memory_ToString_Args_STRUCT_SIZE = 40 };

typedef struct PJRT_Memory_AddressableByDevices_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Memory* memory;
  PJRT_Device* const* devices;  // out
  size_t num_devices;           // out
} PJRT_Memory_AddressableByDevices_Args;
enum { PJRT_Memory_AddressableByDevices_Args_STRUCT_SIZE = 40 };

typedef struct PJRT_TopologyDescription_Create_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const char* topology_name;
  size_t topology_name_size;
  const PJRT_NamedValue* create_options;
  size_t num_options;
  PJRT_TopologyDescription* topology;  // out
} PJRT_TopologyDescription_Create_Args;
enum { PJRT_TopologyDescription_Create_Args_STRUCT_SIZE = 56 };

typedef struct PJRT_TopologyDescription_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_TopologyDescription* topology;
} PJRT_TopologyDescription_Destroy_Args;
enum { PJRT_TopologyDescription_Destroy_Args_STRUCT_SIZE = 24 };

typedef struct PJRT_TopologyDescription_PlatformVersion_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_TopologyDescription* topology;
  const char* platform_version;  // out
  size_t platform_version_size;  // out
} PJRT_TopologyDescription_PlatformVersion_Args;
enum { PJRT_TopologyDescription_PlatformVersion_Args_STRUCT_SIZE = 40 };

typedef struct PJRT_TopologyDescription_PlatformName_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const PJRT_TopologyDescription* topology;
  const char* platform_name;  // out
  size_t platform_name_size;  // out
} PJRT_TopologyDescription_PlatformName_Args;
enum { PJRT_TopologyDescription_PlatformName_Args_STRUCT_SIZE = 40 };

typedef struct PJRT_TopologyDescription_GetDeviceDescriptions_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const PJRT_TopologyDescription* topology;
  PJRT_DeviceDescription* const* descriptions;  // out
  size_t num_descriptions;                      // out
} PJRT_TopologyDescription_GetDeviceDescriptions_Args;
enum { PJRT_TopologyDescription_GetDeviceDescriptions_Args_STRUCT_SIZE = 40 };

typedef struct PJRT_TopologyDescription_Serialize_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_TopologyDescription* topology;
  const char* serialized_bytes;                  // out
  size_t serialized_bytes_size;                  // out
  PJRT_SerializedTopology* serialized_topology;  // out
  void (*serialized_topology_deleter)(PJRT_SerializedTopology* topology);
} PJRT_TopologyDescription_Serialize_Args;
enum { PJRT_TopologyDescription_Serialize_Args_STRUCT_SIZE = 56 };

typedef struct PJRT_TopologyDescription_Deserialize_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const char* serialized_topology;
  size_t serialized_topology_size;
  PJRT_TopologyDescription* topology;  // out
} PJRT_TopologyDescription_Deserialize_Args;
enum { PJRT_TopologyDescription_Deserialize_Args_STRUCT_SIZE = 40 };

typedef struct PJRT_TopologyDescription_Attributes_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_TopologyDescription* topology;
  const PJRT_NamedValue* attributes;  // out
  size_t num_attributes;              // out
} PJRT_TopologyDescription_Attributes_Args;
enum { PJRT_TopologyDescription_Attributes_Args_STRUCT_SIZE = 40 };

typedef struct PJRT_TopologyDescription_Fingerprint_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const PJRT_TopologyDescription* topology;
  uint64_t fingerprint;  // out
} PJRT_TopologyDescription_Fingerprint_Args;
enum { PJRT_TopologyDescription_Fingerprint_Args_STRUCT_SIZE = 32 };

typedef struct PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const PJRT_TopologyDescription* topology;
  int memory_space_kind_id;
  const int64_t* dims;
  size_t num_dims;
  PJRT_Buffer_Type element_type;
  const PJRT_Buffer_MemoryLayout* layout;
  const char* serialized_shape;  // out
  size_t serialized_shape_size;  // out
  void (*serialized_shape_deleter)(const char* serialized_shape);
} PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args;
enum { PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args_STRUCT_SIZE = 88 };

typedef struct PJRT_TopologyDescription_GetMemorySpaceKindIds_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const PJRT_TopologyDescription* topology;
  const int* memory_space_kind_ids;  // out
  size_t num_memory_space_kind_ids;  // out
} PJRT_TopologyDescription_GetMemorySpaceKindIds_Args;
enum { PJRT_TopologyDescription_GetMemorySpaceKindIds_Args_STRUCT_SIZE = 40 };

#ifdef __cplusplus
}
#endif

// NOLINTEND(readability-identifier-naming,modernize-use-using,modernize-deprecated-headers)
