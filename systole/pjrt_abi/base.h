// The PJRT C API, version 0.112 (XLA's xla/pjrt/c): errors, options, events. C11 and C++.
//
// The layout is that of the 64-bit Linux ABI. A caller sets all fields of an argument struct to
// zero, struct_size to the struct's ..._STRUCT_SIZE (the end of its last field, without padding) or
// more, and the fields that are not out. A function returns NULL or an error that the caller
// destroys.
#pragma once

// NOLINTBEGIN(readability-identifier-naming,modernize-use-using,modernize-deprecated-headers)

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct PJRT_AsyncHostToDeviceTransferManager PJRT_AsyncHostToDeviceTransferManager;
typedef struct PJRT_AsyncTrackingEvent PJRT_AsyncTrackingEvent;
typedef struct PJRT_Buffer PJRT_Buffer;
typedef struct PJRT_Client PJRT_Client;
typedef struct PJRT_CopyToDeviceStream PJRT_CopyToDeviceStream;
typedef struct PJRT_Device PJRT_Device;
typedef struct PJRT_DeviceAssignmentSerialized PJRT_DeviceAssignmentSerialized;
typedef struct PJRT_DeviceDescription PJRT_DeviceDescription;
typedef struct PJRT_Device_Attributes PJRT_Device_Attributes;
typedef struct PJRT_Event PJRT_Event;
typedef struct PJRT_Executable PJRT_Executable;
typedef struct PJRT_ExecuteContext PJRT_ExecuteContext;
typedef struct PJRT_FulfillAliasBufferCallback PJRT_FulfillAliasBufferCallback;
typedef struct PJRT_LoadedExecutable PJRT_LoadedExecutable;
typedef struct PJRT_MultiSlice_Config PJRT_MultiSlice_Config;
typedef struct PJRT_SerializedCompileOptions PJRT_SerializedCompileOptions;
typedef struct PJRT_SerializedExecutable PJRT_SerializedExecutable;
typedef struct PJRT_SerializedTopology PJRT_SerializedTopology;
typedef struct PJRT_TopologyDescription PJRT_TopologyDescription;
typedef struct PJRT_Error PJRT_Error;
typedef struct PJRT_Memory PJRT_Memory;

// Extensions are a list that starts at PJRT_Api::extension_start. Readers skip types that they do
// not know.
typedef int PJRT_Extension_Type;
typedef struct PJRT_Extension_Base {
  size_t struct_size;
  PJRT_Extension_Type type;
  struct PJRT_Extension_Base* next;
} PJRT_Extension_Base;
enum { PJRT_Extension_Base_STRUCT_SIZE = 24 };

typedef struct PJRT_Api_Version {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  int major_version;  // out
  int minor_version;  // out
} PJRT_Api_Version;
enum { PJRT_Api_Version_STRUCT_SIZE = 24 };
enum { PJRT_API_MAJOR = 0, PJRT_API_MINOR = 112 };

// Numbered as gRPC's status codes.
typedef enum {
  PJRT_Error_Code_OK = 0,
  PJRT_Error_Code_CANCELLED = 1,
  PJRT_Error_Code_UNKNOWN = 2,
  PJRT_Error_Code_INVALID_ARGUMENT = 3,
  PJRT_Error_Code_DEADLINE_EXCEEDED = 4,
  PJRT_Error_Code_NOT_FOUND = 5,
  PJRT_Error_Code_ALREADY_EXISTS = 6,
  PJRT_Error_Code_PERMISSION_DENIED = 7,
  PJRT_Error_Code_RESOURCE_EXHAUSTED = 8,
  PJRT_Error_Code_FAILED_PRECONDITION = 9,
  PJRT_Error_Code_ABORTED = 10,
  PJRT_Error_Code_OUT_OF_RANGE = 11,
  PJRT_Error_Code_UNIMPLEMENTED = 12,
  PJRT_Error_Code_INTERNAL = 13,
  PJRT_Error_Code_UNAVAILABLE = 14,
  PJRT_Error_Code_DATA_LOSS = 15,
  PJRT_Error_Code_UNAUTHENTICATED = 16
} PJRT_Error_Code;

typedef void (*PJRT_Error_PayloadVisitor)(const char* key, size_t key_size, const char* value,
                                          size_t value_size, void* user_arg);

typedef struct PJRT_Error_FunctionTable {
  size_t struct_size;
  size_t instance_size;
  PJRT_Extension_Base* extension_start;
  void (*destroy)(PJRT_Error* error);
  void (*message)(const PJRT_Error* error, const char** message, size_t* message_size);
  PJRT_Error_Code (*get_code)(const PJRT_Error* error);
  void (*for_each_payload)(const PJRT_Error* error, PJRT_Error_PayloadVisitor visitor,
                           void* user_arg);
} PJRT_Error_FunctionTable;
enum { PJRT_Error_FunctionTable_STRUCT_SIZE = 56 };

// Since 0.112. Errors of plugins before it are opaque.
struct PJRT_Error {
  const struct PJRT_Error_FunctionTable* vtable;
};
enum { PJRT_Error_STRUCT_SIZE = 8 };

typedef struct PJRT_Error_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Error* error;
} PJRT_Error_Destroy_Args;
enum { PJRT_Error_Destroy_Args_STRUCT_SIZE = 24 };

typedef struct PJRT_Error_Message_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const PJRT_Error* error;
  const char* message;  // out
  size_t message_size;  // out
} PJRT_Error_Message_Args;
enum { PJRT_Error_Message_Args_STRUCT_SIZE = 40 };

typedef struct PJRT_Error_GetCode_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const PJRT_Error* error;
  PJRT_Error_Code code;  // out
} PJRT_Error_GetCode_Args;
enum { PJRT_Error_GetCode_Args_STRUCT_SIZE = 28 };

typedef struct PJRT_Error_ForEachPayload_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const PJRT_Error* error;
  PJRT_Error_PayloadVisitor visitor;
  void* user_arg;
} PJRT_Error_ForEachPayload_Args;
enum { PJRT_Error_ForEachPayload_Args_STRUCT_SIZE = 40 };

typedef enum {
  PJRT_NamedValue_kString = 0,
  PJRT_NamedValue_kInt64 = 1,
  PJRT_NamedValue_kInt64List = 2,
  PJRT_NamedValue_kFloat = 3,
  PJRT_NamedValue_kBool = 4
} PJRT_NamedValue_Type;

// value_size is the length of a string, the number of elements of a list, else 1.
typedef struct PJRT_NamedValue {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const char* name;
  size_t name_size;
  PJRT_NamedValue_Type type;
  union {
    const char* string_value;
    int64_t int64_value;
    const int64_t* int64_array_value;
    float float_value;
    bool bool_value;
  };
  size_t value_size;
} PJRT_NamedValue;
enum { PJRT_NamedValue_STRUCT_SIZE = 56 };

typedef struct PJRT_Plugin_Initialize_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
} PJRT_Plugin_Initialize_Args;
enum { PJRT_Plugin_Initialize_Args_STRUCT_SIZE = 16 };

typedef struct PJRT_Plugin_Attributes_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const PJRT_NamedValue* attributes;  // out
  size_t num_attributes;              // out
} PJRT_Plugin_Attributes_Args;
enum { PJRT_Plugin_Attributes_Args_STRUCT_SIZE = 32 };

// The callback owns the error, which is NULL for success.
typedef void (*PJRT_Event_OnReadyCallback)(PJRT_Error* error, void* user_arg);

typedef struct PJRT_Event_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Event* event;
} PJRT_Event_Destroy_Args;
enum { PJRT_Event_Destroy_Args_STRUCT_SIZE = 24 };

typedef struct PJRT_Event_IsReady_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Event* event;
  bool is_ready;  // out
} PJRT_Event_IsReady_Args;
enum { PJRT_Event_IsReady_Args_STRUCT_SIZE = 25 };

typedef struct PJRT_Event_Error_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Event* event;
} PJRT_Event_Error_Args;
enum { PJRT_Event_Error_Args_STRUCT_SIZE = 24 };

typedef struct PJRT_Event_Await_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Event* event;
} PJRT_Event_Await_Args;
enum { PJRT_Event_Await_Args_STRUCT_SIZE = 24 };

typedef struct PJRT_Event_OnReady_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Event* event;
  PJRT_Event_OnReadyCallback callback;
  void* user_arg;
} PJRT_Event_OnReady_Args;
enum { PJRT_Event_OnReady_Args_STRUCT_SIZE = 40 };

typedef struct PJRT_Event_Create_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Event* event;  // out
} PJRT_Event_Create_Args;
enum { PJRT_Event_Create_Args_STRUCT_SIZE = 24 };

typedef struct PJRT_Event_Set_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Event* event;
  PJRT_Error_Code error_code;
  const char* error_message;
  size_t error_message_size;
} PJRT_Event_Set_Args;
enum { PJRT_Event_Set_Args_STRUCT_SIZE = 48 };

#ifdef __cplusplus
}
#endif

// NOLINTEND(readability-identifier-naming,modernize-use-using,modernize-deprecated-headers)
