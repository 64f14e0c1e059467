// XLA's FFI, version 0.3: the structs with which a library's functions ("handlers") are called and
// call back. Source: xla/ffi/api/c_api.h, which JAX's package jaxlib contains. `make client-tests`
// compares every struct with it.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

inline constexpr int kFfiMajor = 0;
inline constexpr int kFfiMinor = 3;

struct XLA_FFI_Api;
struct XLA_FFI_Error;
struct XLA_FFI_ExecutionContext;
struct XLA_FFI_Future;

enum XLA_FFI_Extension_Type { XLA_FFI_Extension_Metadata = 1 };
enum XLA_FFI_ArgType { XLA_FFI_ArgType_BUFFER = 1 };
enum XLA_FFI_RetType { XLA_FFI_RetType_BUFFER = 1 };
enum XLA_FFI_AttrType {
  XLA_FFI_AttrType_ARRAY = 1,
  XLA_FFI_AttrType_DICTIONARY = 2,
  XLA_FFI_AttrType_SCALAR = 3,
  XLA_FFI_AttrType_STRING = 4,
};
enum XLA_FFI_ExecutionStage {
  XLA_FFI_ExecutionStage_INSTANTIATE = 0,
  XLA_FFI_ExecutionStage_PREPARE = 1,
  XLA_FFI_ExecutionStage_INITIALIZE = 2,
  XLA_FFI_ExecutionStage_EXECUTE = 3,
};
// The numbers of XLA's PrimitiveType.
using XLA_FFI_DataType = int;
// The numbers of systole::Code; 0: no error.
using XLA_FFI_Error_Code = int;

struct XLA_FFI_Extension_Base {
  size_t struct_size;
  XLA_FFI_Extension_Type type;
  XLA_FFI_Extension_Base* next;
};
struct XLA_FFI_Api_Version {
  size_t struct_size;
  XLA_FFI_Extension_Base* extension_start;
  int major_version;  // out
  int minor_version;  // out
};
struct XLA_FFI_ByteSpan {
  const char* ptr;
  size_t len;
};
struct XLA_FFI_Scalar {
  XLA_FFI_DataType dtype;
  void* value;
};
struct XLA_FFI_Array {
  XLA_FFI_DataType dtype;
  size_t size;
  void* data;
};
struct XLA_FFI_Buffer {
  size_t struct_size;
  XLA_FFI_Extension_Base* extension_start;
  XLA_FFI_DataType dtype;
  void* data;
  int64_t rank;
  int64_t* dims;
};
struct XLA_FFI_TypeId {
  int64_t type_id;
};
struct XLA_FFI_TypeInfo {
  size_t struct_size;
  XLA_FFI_Extension_Base* extension_start;
  void (*deleter)(void* object);
};

// The arguments of a call. Attributes are sorted by name.
struct XLA_FFI_Args {
  size_t struct_size;
  XLA_FFI_Extension_Base* extension_start;
  int64_t size;
  XLA_FFI_ArgType* types;
  void** args;
};
struct XLA_FFI_Rets {
  size_t struct_size;
  XLA_FFI_Extension_Base* extension_start;
  int64_t size;
  XLA_FFI_RetType* types;
  void** rets;
};
struct XLA_FFI_Attrs {
  size_t struct_size;
  XLA_FFI_Extension_Base* extension_start;
  int64_t size;
  XLA_FFI_AttrType* types;
  XLA_FFI_ByteSpan** names;
  void** attrs;
};
struct XLA_FFI_CallFrame {
  size_t struct_size;
  XLA_FFI_Extension_Base* extension_start;
  const XLA_FFI_Api* api;
  XLA_FFI_ExecutionContext* ctx;
  XLA_FFI_ExecutionStage stage;
  XLA_FFI_Args args;
  XLA_FFI_Rets rets;
  XLA_FFI_Attrs attrs;
  XLA_FFI_Future* future;  // out
};

using XLA_FFI_Handler = XLA_FFI_Error*(XLA_FFI_CallFrame*);
struct XLA_FFI_Handler_Bundle {
  XLA_FFI_Handler* instantiate;
  XLA_FFI_Handler* prepare;
  XLA_FFI_Handler* initialize;
  XLA_FFI_Handler* execute;
};
using XLA_FFI_Handler_Traits = uint32_t;

// What a handler says of itself when it is called with this extension.
struct XLA_FFI_Metadata {
  size_t struct_size;
  XLA_FFI_Api_Version api_version;
  XLA_FFI_Handler_Traits traits;
  XLA_FFI_TypeId state_type_id;
};
struct XLA_FFI_Metadata_Extension {
  XLA_FFI_Extension_Base extension_base;
  XLA_FFI_Metadata* metadata;
};

// The arguments of the functions of XLA_FFI_Api.
#define XLA_FFI_ARGS(name, fields)           \
  struct name {                              \
    size_t struct_size;                      \
    XLA_FFI_Extension_Base* extension_start; \
    fields                                   \
  }
XLA_FFI_ARGS(XLA_FFI_Error_Create_Args, const char* message; XLA_FFI_Error_Code errc;);
XLA_FFI_ARGS(XLA_FFI_Error_GetMessage_Args, XLA_FFI_Error* error; const char* message;);
XLA_FFI_ARGS(XLA_FFI_Error_Destroy_Args, XLA_FFI_Error* error;);
XLA_FFI_ARGS(XLA_FFI_Handler_Register_Args, XLA_FFI_ByteSpan name; XLA_FFI_ByteSpan platform;
             XLA_FFI_Handler_Bundle bundle; XLA_FFI_Handler_Traits traits;);
XLA_FFI_ARGS(XLA_FFI_Stream_Get_Args, XLA_FFI_ExecutionContext* ctx; void* stream;);
XLA_FFI_ARGS(XLA_FFI_Type_Register_Args, XLA_FFI_ByteSpan name; XLA_FFI_TypeId * type_id;
             const XLA_FFI_TypeInfo* type_info;);
XLA_FFI_ARGS(XLA_FFI_ExecutionContext_Get_Args, XLA_FFI_ExecutionContext* ctx;
             XLA_FFI_TypeId * type_id; void* data;);
XLA_FFI_ARGS(XLA_FFI_State_Set_Args, XLA_FFI_ExecutionContext* ctx; XLA_FFI_ExecutionStage stage;
             XLA_FFI_TypeId * type_id; void* state;);
XLA_FFI_ARGS(XLA_FFI_State_Get_Args, XLA_FFI_ExecutionContext* ctx; XLA_FFI_ExecutionStage stage;
             XLA_FFI_TypeId * type_id; void* state;);
XLA_FFI_ARGS(XLA_FFI_DeviceMemory_Allocate_Args, XLA_FFI_ExecutionContext* ctx; size_t size;
             size_t alignment; void* data;);
XLA_FFI_ARGS(XLA_FFI_DeviceMemory_Free_Args, XLA_FFI_ExecutionContext* ctx; size_t size;
             void* data;);
using XLA_FFI_Task = void(void* data);
XLA_FFI_ARGS(XLA_FFI_ThreadPool_Schedule_Args, XLA_FFI_ExecutionContext* ctx; XLA_FFI_Task * task;
             void* data;);
XLA_FFI_ARGS(XLA_FFI_ThreadPool_NumThreads_Args, XLA_FFI_ExecutionContext* ctx;
             int64_t * num_threads;);
XLA_FFI_ARGS(XLA_FFI_Future_Create_Args, XLA_FFI_Future* future;);
XLA_FFI_ARGS(XLA_FFI_Future_SetAvailable_Args, XLA_FFI_Future* future;);
XLA_FFI_ARGS(XLA_FFI_Future_SetError_Args, XLA_FFI_Future* future; XLA_FFI_Error * error;);
XLA_FFI_ARGS(XLA_FFI_RunId_Get_Args, XLA_FFI_ExecutionContext* ctx; int64_t run_id;);
XLA_FFI_ARGS(XLA_FFI_DeviceOrdinal_Get_Args, XLA_FFI_ExecutionContext* ctx;
             int32_t device_ordinal;);
#undef XLA_FFI_ARGS

// Errors that these return, and errors that handlers return, belong to the caller.
struct XLA_FFI_Api {
  size_t struct_size;
  XLA_FFI_Extension_Base* extension_start;
  XLA_FFI_Api_Version api_version;
  const void* internal_api;  // of XLA alone: null
  XLA_FFI_Error* (*XLA_FFI_Error_Create)(XLA_FFI_Error_Create_Args*);
  void (*XLA_FFI_Error_GetMessage)(XLA_FFI_Error_GetMessage_Args*);
  void (*XLA_FFI_Error_Destroy)(XLA_FFI_Error_Destroy_Args*);
  XLA_FFI_Error* (*XLA_FFI_Handler_Register)(XLA_FFI_Handler_Register_Args*);
  XLA_FFI_Error* (*XLA_FFI_Stream_Get)(XLA_FFI_Stream_Get_Args*);
  XLA_FFI_Error* (*XLA_FFI_Type_Register)(XLA_FFI_Type_Register_Args*);
  XLA_FFI_Error* (*XLA_FFI_ExecutionContext_Get)(XLA_FFI_ExecutionContext_Get_Args*);
  XLA_FFI_Error* (*XLA_FFI_State_Set)(XLA_FFI_State_Set_Args*);
  XLA_FFI_Error* (*XLA_FFI_State_Get)(XLA_FFI_State_Get_Args*);
  XLA_FFI_Error* (*XLA_FFI_DeviceMemory_Allocate)(XLA_FFI_DeviceMemory_Allocate_Args*);
  XLA_FFI_Error* (*XLA_FFI_DeviceMemory_Free)(XLA_FFI_DeviceMemory_Free_Args*);
  XLA_FFI_Error* (*XLA_FFI_ThreadPool_Schedule)(XLA_FFI_ThreadPool_Schedule_Args*);
  XLA_FFI_Error* (*XLA_FFI_ThreadPool_NumThreads)(XLA_FFI_ThreadPool_NumThreads_Args*);
  XLA_FFI_Error* (*XLA_FFI_Future_Create)(XLA_FFI_Future_Create_Args*);
  XLA_FFI_Error* (*XLA_FFI_Future_SetAvailable)(XLA_FFI_Future_SetAvailable_Args*);
  XLA_FFI_Error* (*XLA_FFI_Future_SetError)(XLA_FFI_Future_SetError_Args*);
  XLA_FFI_Error* (*XLA_FFI_RunId_Get)(XLA_FFI_RunId_Get_Args*);
  XLA_FFI_Error* (*XLA_FFI_DeviceOrdinal_Get)(XLA_FFI_DeviceOrdinal_Get_Args*);
};

}  // extern "C"
