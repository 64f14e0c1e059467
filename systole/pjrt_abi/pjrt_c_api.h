// The PJRT C API, version 0.112 (XLA's xla/pjrt/c). C11 and C++.
//
// The layout is that of the 64-bit Linux ABI. A caller sets all fields of an argument struct to
// zero, struct_size to the struct's ..._STRUCT_SIZE (the end of its last field, without padding) or
// more, and the fields that are not out (structs.def). A function returns NULL or an error that the
// caller destroys.
#pragma once

// NOLINTBEGIN(readability-identifier-naming,modernize-use-using,modernize-deprecated-headers)
// NOLINTBEGIN(bugprone-macro-parentheses,cppcoreguidelines-macro-usage)

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
typedef struct PJRT_Layouts_MemoryLayout PJRT_Layouts_MemoryLayout;
typedef struct PJRT_Layouts_SerializedLayout PJRT_Layouts_SerializedLayout;
typedef struct PJRT_LoadedExecutable PJRT_LoadedExecutable;
typedef struct PJRT_MemoryDescription PJRT_MemoryDescription;
typedef struct PJRT_MultiSlice_Config PJRT_MultiSlice_Config;
typedef struct PJRT_SerializedCompileOptions PJRT_SerializedCompileOptions;
typedef struct PJRT_SerializedExecutable PJRT_SerializedExecutable;
typedef struct PJRT_SerializedTopology PJRT_SerializedTopology;
typedef struct PJRT_TopologyDescription PJRT_TopologyDescription;
typedef struct PLUGIN_Profiler PLUGIN_Profiler;
typedef struct PLUGIN_Profiler_Error PLUGIN_Profiler_Error;

#define ARGS(name, ...) typedef struct name##_Args name##_Args;
#define STRUCT(name, ...) typedef struct name name;
#define PLAIN(name, ...) typedef struct name name;
#include "systole/pjrt_abi/structs.def"

// Extensions are a list that starts at PJRT_Api::extension_start. Readers skip types that they do
// not know.
typedef int PJRT_Extension_Type;
enum {
  PJRT_Extension_Type_Profiler = 1,
  PJRT_Extension_Type_Custom_Partitioner = 2,
  PJRT_Extension_Type_Layouts = 4,
  PJRT_Extension_Type_FFI = 5,
  PJRT_Extension_Type_MemoryDescriptions = 6,
  PJRT_Extension_Type_HostAllocator = 15,
  PJRT_Extension_Type_Shardings = 19
};

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

typedef enum {
  PJRT_NamedValue_kString = 0,
  PJRT_NamedValue_kInt64 = 1,
  PJRT_NamedValue_kInt64List = 2,
  PJRT_NamedValue_kFloat = 3,
  PJRT_NamedValue_kBool = 4
} PJRT_NamedValue_Type;

// The callback owns the error, which is NULL for success.
typedef void (*PJRT_Event_OnReadyCallback)(PJRT_Error* error, void* user_arg);

typedef enum {
  PJRT_Buffer_Type_INVALID = 0,
  PJRT_Buffer_Type_PRED = 1,
  PJRT_Buffer_Type_S8 = 2,
  PJRT_Buffer_Type_S16 = 3,
  PJRT_Buffer_Type_S32 = 4,
  PJRT_Buffer_Type_S64 = 5,
  PJRT_Buffer_Type_U8 = 6,
  PJRT_Buffer_Type_U16 = 7,
  PJRT_Buffer_Type_U32 = 8,
  PJRT_Buffer_Type_U64 = 9,
  PJRT_Buffer_Type_F16 = 10,
  PJRT_Buffer_Type_F32 = 11,
  PJRT_Buffer_Type_F64 = 12,
  PJRT_Buffer_Type_BF16 = 13,
  PJRT_Buffer_Type_C64 = 14,
  PJRT_Buffer_Type_C128 = 15,
  PJRT_Buffer_Type_F8E5M2 = 16,
  PJRT_Buffer_Type_F8E4M3FN = 17,
  PJRT_Buffer_Type_F8E4M3B11FNUZ = 18,
  PJRT_Buffer_Type_F8E5M2FNUZ = 19,
  PJRT_Buffer_Type_F8E4M3FNUZ = 20,
  PJRT_Buffer_Type_S4 = 21,
  PJRT_Buffer_Type_U4 = 22,
  PJRT_Buffer_Type_TOKEN = 23,
  PJRT_Buffer_Type_S2 = 24,
  PJRT_Buffer_Type_U2 = 25,
  PJRT_Buffer_Type_F8E4M3 = 26,
  PJRT_Buffer_Type_F8E3M4 = 27,
  PJRT_Buffer_Type_F8E8M0FNU = 28,
  PJRT_Buffer_Type_F4E2M1FN = 29,
  PJRT_Buffer_Type_S1 = 30,
  PJRT_Buffer_Type_U1 = 31
} PJRT_Buffer_Type;

// How long the host keeps the memory that PJRT_Client_BufferFromHostBuffer reads.
typedef enum {
  PJRT_HostBufferSemantics_kImmutableOnlyDuringCall = 0,
  // Until done_with_host_buffer is ready.
  PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes = 1,
  // As long as the buffer lives. done_with_host_buffer is ready when the buffer is gone.
  PJRT_HostBufferSemantics_kImmutableZeroCopy = 2,
  PJRT_HostBufferSemantics_kMutableZeroCopy = 3
} PJRT_HostBufferSemantics;

typedef enum {
  PJRT_Buffer_MemoryLayout_Type_Tiled = 0,
  PJRT_Buffer_MemoryLayout_Type_Strides = 1
} PJRT_Buffer_MemoryLayout_Type;

// Makes the error that a key-value callback returns.
typedef PJRT_Error* (*PJRT_CallbackError)(PJRT_Error_Code code, const char* message,
                                          size_t message_size);
typedef void (*PJRT_KeyValueGetCallback_ValueDeleter)(char* value);
typedef void (*PJRT_KeyValueTryGetCallback_ValueDeleter)(char* value);

typedef PJRT_Error* (*PJRT_KeyValueGetCallback)(PJRT_KeyValueGetCallback_Args* args);

typedef PJRT_Error* (*PJRT_KeyValueTryGetCallback)(PJRT_KeyValueTryGetCallback_Args* args);

typedef PJRT_Error* (*PJRT_KeyValuePutCallback)(PJRT_KeyValuePutCallback_Args* args);

typedef enum {
  PJRT_ProcessState_kUnspecified = 0,
  PJRT_ProcessState_kUninitialized = 1,
  PJRT_ProcessState_kDisconnected = 2,
  PJRT_ProcessState_kConnected = 3,
  PJRT_ProcessState_kError = 4
} PJRT_ProcessState;

typedef PJRT_Error* (*PJRT_SendCallback)(PJRT_Chunk* chunk, PJRT_CallbackError* callback_error,
                                         size_t total_size_in_bytes, bool done, void* user_arg);
typedef void (*PJRT_RecvCallback)(PJRT_CopyToDeviceStream* stream, void* user_arg);
typedef void (*PJRT_HloOutputCallback)(PJRT_Buffer** operands, size_t num_operands, void* user_arg);

// Defines a struct and its size: a char behind the last field begins where that ends.
#define PJRT_DEFINE_STRUCT(name, ...) \
  struct name {                       \
    __VA_ARGS__                       \
  };                                  \
  struct name##_AndEnd {              \
    __VA_ARGS__                       \
    char end;                         \
  };                                  \
  enum { name##_STRUCT_SIZE = offsetof(struct name##_AndEnd, end) };
#define PJRT_HEAD     \
  size_t struct_size; \
  PJRT_Extension_Base* extension_start;
#define ARGS(name, ...) PJRT_DEFINE_STRUCT(name##_Args, PJRT_HEAD __VA_ARGS__)
#define STRUCT(name, ...) PJRT_DEFINE_STRUCT(name, PJRT_HEAD __VA_ARGS__)
#define PLAIN(name, ...) PJRT_DEFINE_STRUCT(name, __VA_ARGS__)
#define IN(type, name) type name;
#define OUT(type, name) type name;
#define INOUT(type, name) type name;
#define IN_FUNCTION(result, name, parameters) result(*name) parameters;
#define OUT_FUNCTION(result, name, parameters) result(*name) parameters;
#define UNION(...) \
  union {          \
    __VA_ARGS__    \
  };
#include "systole/pjrt_abi/structs.def"

// The functions of a plugin. Later versions append to them: a function is there if struct_size
// covers its slot and the slot is not NULL.
typedef struct PJRT_Api {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Api_Version pjrt_api_version;
  void (*PJRT_Error_Destroy)(PJRT_Error_Destroy_Args* args);
  void (*PJRT_Error_Message)(PJRT_Error_Message_Args* args);
#define FUNCTION(name) PJRT_Error* (*name)(name##_Args * args);
#include "systole/pjrt_abi/functions.def"
} PJRT_Api;
enum { PJRT_Api_STRUCT_SIZE = sizeof(PJRT_Api) };

// The only symbol that a plugin exports. The table lives as long as the library.
const PJRT_Api* GetPjrtApi(void);

#ifdef __cplusplus
}
#endif

// NOLINTEND(bugprone-macro-parentheses,cppcoreguidelines-macro-usage)
// NOLINTEND(readability-identifier-naming,modernize-use-using,modernize-deprecated-headers)
