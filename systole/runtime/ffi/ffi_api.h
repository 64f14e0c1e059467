// What handlers of XLA's FFI may call: errors, states, memory, futures.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "systole/base/error.h"
#include "systole/base/mutex.h"
#include "systole/runtime/ffi/ffi_c_api.h"

struct XLA_FFI_Error {
  systole::Code code;
  std::string message;
};

// The end of a handler's work that goes on after its return. Thread-safe.
struct XLA_FFI_Future {
  void finish(std::unique_ptr<XLA_FFI_Error> how);
  // Waits for the end. Returns null if it was none but good.
  std::unique_ptr<XLA_FFI_Error> wait();

 private:
  systole::Mutex mutex_;
  systole::CondVar changed_;
  bool done_ SYSTOLE_GUARDED_BY(mutex_) = false;
  std::unique_ptr<XLA_FFI_Error> error_ SYSTOLE_GUARDED_BY(mutex_);
};

namespace systole::runtime {

// The states of the stages before the execution. A later stage of the same call site reads them.
class FfiStates {
 public:
  FfiStates() = default;
  ~FfiStates();
  FfiStates(const FfiStates&) = delete;
  FfiStates& operator=(const FfiStates&) = delete;

  // Takes the ownership. Errors: ALREADY_EXISTS; INVALID_ARGUMENT for the last stage.
  void set(XLA_FFI_ExecutionStage stage, int64_t type_id, void* state);
  // Errors: NOT_FOUND; INVALID_ARGUMENT for another type.
  void* get(XLA_FFI_ExecutionStage stage, int64_t type_id) const;

 private:
  struct State {
    int64_t type_id = 0;
    void* object = nullptr;
  };
  const State& of(XLA_FFI_ExecutionStage stage) const;
  std::array<State, 3> states_;
};

}  // namespace systole::runtime

// One call of a handler.
struct XLA_FFI_ExecutionContext {
  systole::runtime::FfiStates& instance;  // of the call site: XLA_FFI_ExecutionStage_INSTANTIATE
  systole::runtime::FfiStates& run;       // of this call: the stages after it
  int64_t run_id = 0;
};

namespace systole::runtime {

// The alignment of memory that handlers ask for, at least.
inline constexpr size_t kFfiAlignment = 64;

const XLA_FFI_Api& ffi_api();
// Returns the error of a handler, and deletes it.
Error take_ffi_error(XLA_FFI_Error* error, std::string_view target);

}  // namespace systole::runtime
