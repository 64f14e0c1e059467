#include "systole/runtime/ffi/ffi_api.h"

#include <cstdlib>
#include <exception>
#include <new>

#include "systole/runtime/ffi/ffi_registry.h"

namespace systole::runtime {
namespace {

// Runs the body of a function that a handler calls.
template <class Body>
XLA_FFI_Error* guarded_ffi(const Body& body) noexcept {
  try {
    body();
    return nullptr;
  } catch (const Error& error) {
    return new (std::nothrow) XLA_FFI_Error{error.code(), error.message()};
  } catch (const std::exception& error) {
    return new (std::nothrow) XLA_FFI_Error{Code::internal, error.what()};
  }
}

Code code_of_ffi(XLA_FFI_Error_Code code) {
  const bool known =
      code >= static_cast<int>(Code::cancelled) && code <= static_cast<int>(Code::unauthenticated);
  return known ? static_cast<Code>(code) : Code::unknown;
}

std::string_view text_of(const XLA_FFI_ByteSpan& span) { return {span.ptr, span.len}; }

XLA_FFI_Error* error_create(XLA_FFI_Error_Create_Args* a) {
  return new (std::nothrow)
      XLA_FFI_Error{code_of_ffi(a->errc), a->message == nullptr ? "" : a->message};
}

void error_get_message(XLA_FFI_Error_GetMessage_Args* a) { a->message = a->error->message.c_str(); }

void error_destroy(XLA_FFI_Error_Destroy_Args* a) { delete a->error; }

XLA_FFI_Error* handler_register(XLA_FFI_Handler_Register_Args* a) {
  return guarded_ffi([&] { register_ffi_handler(text_of(a->name), a->bundle); });
}

XLA_FFI_Error* stream_get(XLA_FFI_Stream_Get_Args*) {
  return guarded_ffi([] {
    throw unimplemented("FFI: stream, got a question for one, expected none: this device is a CPU");
  });
}

XLA_FFI_Error* type_register(XLA_FFI_Type_Register_Args* a) {
  return guarded_ffi([&] {
    a->type_id->type_id = register_ffi_type(text_of(a->name), a->type_id->type_id, a->type_info);
  });
}

XLA_FFI_Error* execution_context_get(XLA_FFI_ExecutionContext_Get_Args* a) {
  return guarded_ffi([&] {
    throw not_found("FFI: context of the execution, got type {}, which it does not have",
                    a->type_id->type_id);
  });
}

FfiStates& states_of(XLA_FFI_ExecutionContext* context, XLA_FFI_ExecutionStage stage) {
  return stage == XLA_FFI_ExecutionStage_INSTANTIATE ? context->instance : context->run;
}

XLA_FFI_Error* state_set(XLA_FFI_State_Set_Args* a) {
  return guarded_ffi(
      [&] { states_of(a->ctx, a->stage).set(a->stage, a->type_id->type_id, a->state); });
}

XLA_FFI_Error* state_get(XLA_FFI_State_Get_Args* a) {
  return guarded_ffi(
      [&] { a->state = states_of(a->ctx, a->stage).get(a->stage, a->type_id->type_id); });
}

XLA_FFI_Error* device_memory_allocate(XLA_FFI_DeviceMemory_Allocate_Args* a) {
  return guarded_ffi([&] {
    a->data = ::operator new (a->size, std::align_val_t{kFfiAlignment}, std::nothrow);
    if (a->alignment > kFfiAlignment || (a->data == nullptr && a->size > 0)) {
      ::operator delete (a->data, std::align_val_t{kFfiAlignment});
      a->data = nullptr;
      throw make_error(Code::resource_exhausted,
                       "FFI: memory, got a request for {} bytes aligned to {}", a->size,
                       a->alignment);
    }
  });
}

XLA_FFI_Error* device_memory_free(XLA_FFI_DeviceMemory_Free_Args* a) {
  ::operator delete (a->data, std::align_val_t{kFfiAlignment});
  return nullptr;
}

// Tasks may run on the thread that schedules them.
XLA_FFI_Error* thread_pool_schedule(XLA_FFI_ThreadPool_Schedule_Args* a) {
  return guarded_ffi([&] { a->task(a->data); });
}

XLA_FFI_Error* thread_pool_num_threads(XLA_FFI_ThreadPool_NumThreads_Args* a) {
  *a->num_threads = 1;
  return nullptr;
}

XLA_FFI_Error* future_create(XLA_FFI_Future_Create_Args* a) {
  return guarded_ffi([&] { a->future = new XLA_FFI_Future; });
}

XLA_FFI_Error* future_set_available(XLA_FFI_Future_SetAvailable_Args* a) {
  return guarded_ffi([&] { a->future->finish(nullptr); });
}

XLA_FFI_Error* future_set_error(XLA_FFI_Future_SetError_Args* a) {
  return guarded_ffi([&] { a->future->finish(std::unique_ptr<XLA_FFI_Error>(a->error)); });
}

XLA_FFI_Error* run_id_get(XLA_FFI_RunId_Get_Args* a) {
  a->run_id = a->ctx->run_id;
  return nullptr;
}

XLA_FFI_Error* device_ordinal_get(XLA_FFI_DeviceOrdinal_Get_Args* a) {
  a->device_ordinal = 0;
  return nullptr;
}

constexpr XLA_FFI_Api kFfiApi = {
    .struct_size = sizeof(XLA_FFI_Api),
    .extension_start = nullptr,
    .api_version = {.struct_size = sizeof(XLA_FFI_Api_Version),
                    .extension_start = nullptr,
                    .major_version = kFfiMajor,
                    .minor_version = kFfiMinor},
    .internal_api = nullptr,
    .XLA_FFI_Error_Create = error_create,
    .XLA_FFI_Error_GetMessage = error_get_message,
    .XLA_FFI_Error_Destroy = error_destroy,
    .XLA_FFI_Handler_Register = handler_register,
    .XLA_FFI_Stream_Get = stream_get,
    .XLA_FFI_Type_Register = type_register,
    .XLA_FFI_ExecutionContext_Get = execution_context_get,
    .XLA_FFI_State_Set = state_set,
    .XLA_FFI_State_Get = state_get,
    .XLA_FFI_DeviceMemory_Allocate = device_memory_allocate,
    .XLA_FFI_DeviceMemory_Free = device_memory_free,
    .XLA_FFI_ThreadPool_Schedule = thread_pool_schedule,
    .XLA_FFI_ThreadPool_NumThreads = thread_pool_num_threads,
    .XLA_FFI_Future_Create = future_create,
    .XLA_FFI_Future_SetAvailable = future_set_available,
    .XLA_FFI_Future_SetError = future_set_error,
    .XLA_FFI_RunId_Get = run_id_get,
    .XLA_FFI_DeviceOrdinal_Get = device_ordinal_get,
};

}  // namespace

FfiStates::~FfiStates() {
  for (const State& state : states_) delete_ffi_object(state.type_id, state.object);
}

const FfiStates::State& FfiStates::of(XLA_FFI_ExecutionStage stage) const {
  if (stage < 0 || static_cast<size_t>(stage) >= states_.size()) {
    throw invalid_argument("FFI: stage of a state, got {}, expected in [0, {})",
                           static_cast<int>(stage), states_.size());
  }
  return states_[static_cast<size_t>(stage)];
}

void FfiStates::set(XLA_FFI_ExecutionStage stage, int64_t type_id, void* state) {
  if (of(stage).object != nullptr) {
    throw make_error(Code::already_exists, "FFI: state of stage {}, got a second one",
                     static_cast<int>(stage));
  }
  states_[static_cast<size_t>(stage)] = {type_id, state};
}

void* FfiStates::get(XLA_FFI_ExecutionStage stage, int64_t type_id) const {
  const State& state = of(stage);
  if (state.object == nullptr)
    throw not_found("FFI: state of stage {}, got none", static_cast<int>(stage));
  if (state.type_id == type_id) return state.object;
  throw invalid_argument("FFI: state of stage {}, got a question for type {}, expected type {}",
                         static_cast<int>(stage), type_id, state.type_id);
}

const XLA_FFI_Api& ffi_api() { return kFfiApi; }

Error take_ffi_error(XLA_FFI_Error* error, std::string_view target) {
  const std::unique_ptr<XLA_FFI_Error> owned(error);
  return make_error(owned->code, "custom_call '{}': {}", target, owned->message);
}

}  // namespace systole::runtime

void XLA_FFI_Future::finish(std::unique_ptr<XLA_FFI_Error> how) {
  const systole::MutexLock lock(mutex_);
  if (done_) return;
  done_ = true;
  error_ = std::move(how);
  changed_.notify_all();  // with the lock held: wait() deletes the future
}

std::unique_ptr<XLA_FFI_Error> XLA_FFI_Future::wait() {
  systole::MutexLock lock(mutex_);
  changed_.wait(lock, [this]() SYSTOLE_REQUIRES(mutex_) { return done_; });
  return std::move(error_);
}
