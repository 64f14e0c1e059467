// The extensions of the PJRT C API that the plugin has, as of 0.112: memory layouts, and the
// memories of devices that are described alone. They are found in the list at
// PJRT_Api::extension_start.
#pragma once

#include "systole/pjrt_abi/struct_size.h"

// NOLINTBEGIN(readability-identifier-naming,modernize-use-using): the API's names
extern "C" {

enum : PJRT_Extension_Type {
  PJRT_Extension_Type_Layouts = 4,
  PJRT_Extension_Type_MemoryDescriptions = 6,
};

// -- Layouts. With this extension programs may have `mhlo.layout_mode` on parameters and results:
// "default", "auto", or axes from the fastest to the slowest, "{0,1}".

struct PJRT_Layouts_MemoryLayout;
struct PJRT_Layouts_SerializedLayout;

struct PJRT_Layouts_MemoryLayout_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Layouts_MemoryLayout* layout;  // may be null
};
struct PJRT_Layouts_MemoryLayout_Serialize_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Layouts_MemoryLayout* layout;
  const char* serialized_bytes;  // out, as are the following
  size_t serialized_bytes_size;
  PJRT_Layouts_SerializedLayout* serialized_layout;
  void (*serialized_layout_deleter)(PJRT_Layouts_SerializedLayout*);
};
struct PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Client* client;
  PJRT_Buffer_Type type;
  const int64_t* dims;
  size_t num_dims;
  PJRT_Layouts_MemoryLayout* layout;  // out, the caller's
};
struct PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Buffer* buffer;
  PJRT_Layouts_MemoryLayout* layout;  // out, the caller's
};
struct PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_TopologyDescription* topology_description;
  PJRT_Buffer_Type type;
  const int64_t* dims;
  size_t num_dims;
  PJRT_Layouts_MemoryLayout* layout;  // out, the caller's
};
struct PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Executable* executable;
  size_t num_outputs;                   // out
  PJRT_Layouts_MemoryLayout** layouts;  // out, the executable's
};
struct PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Executable* executable;
  size_t num_parameters;                // out
  PJRT_Layouts_MemoryLayout** layouts;  // out, the executable's
};

struct PJRT_Layouts_Extension {
  PJRT_Extension_Base base;
  PJRT_Error* (*destroy)(PJRT_Layouts_MemoryLayout_Destroy_Args*);
  PJRT_Error* (*serialize)(PJRT_Layouts_MemoryLayout_Serialize_Args*);
  PJRT_Error* (*client_default)(PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args*);
  PJRT_Error* (*of_buffer)(PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args*);
  PJRT_Error* (*topology_default)(PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args*);
  PJRT_Error* (*of_outputs)(PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args*);
  PJRT_Error* (*of_parameters)(PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args*);
};

// -- Memories of a device description.

struct PJRT_MemoryDescription;

struct PJRT_DeviceDescription_MemoryDescriptions_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_DeviceDescription* device_description;
  const PJRT_MemoryDescription* const* memory_descriptions;  // out
  size_t num_memory_descriptions;                            // out
  size_t default_memory_index;                               // out
};
struct PJRT_MemoryDescription_Kind_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const PJRT_MemoryDescription* memory_description;
  const char* kind;  // out
  size_t kind_size;  // out
  int kind_id;       // out
};

struct PJRT_MemoryDescriptions_Extension {
  PJRT_Extension_Base base;
  PJRT_Error* (*of_device)(PJRT_DeviceDescription_MemoryDescriptions_Args*);
  PJRT_Error* (*kind)(PJRT_MemoryDescription_Kind_Args*);
};

}  // extern "C"
// NOLINTEND(readability-identifier-naming,modernize-use-using)

namespace systole::pjrt_abi {

template <>
inline constexpr size_t kStructSize<PJRT_Layouts_MemoryLayout_Destroy_Args> =
    sizeof(PJRT_Layouts_MemoryLayout_Destroy_Args);
template <>
inline constexpr size_t kStructSize<PJRT_Layouts_MemoryLayout_Serialize_Args> =
    sizeof(PJRT_Layouts_MemoryLayout_Serialize_Args);
template <>
inline constexpr size_t kStructSize<PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args> =
    sizeof(PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args);
template <>
inline constexpr size_t kStructSize<PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args> =
    sizeof(PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args);
template <>
inline constexpr size_t kStructSize<PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args> =
    sizeof(PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args);
template <>
inline constexpr size_t kStructSize<PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args> =
    sizeof(PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args);
template <>
inline constexpr size_t kStructSize<PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args> =
    sizeof(PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args);
template <>
inline constexpr size_t kStructSize<PJRT_DeviceDescription_MemoryDescriptions_Args> =
    sizeof(PJRT_DeviceDescription_MemoryDescriptions_Args);
// Up to kind_id, as callers count.
template <>
inline constexpr size_t kStructSize<PJRT_MemoryDescription_Kind_Args> =
    offsetof(PJRT_MemoryDescription_Kind_Args, kind_id) + sizeof(int);

}  // namespace systole::pjrt_abi
