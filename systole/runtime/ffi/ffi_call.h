// A custom call of a program, as a call of a handler of XLA's FFI.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "systole/hlo/ir/module.h"
#include "systole/runtime/ffi/ffi_api.h"
#include "systole/runtime/ffi/ffi_attributes.h"

namespace systole::runtime {

// Returns whether a handler is registered for the custom call. Thread-safe.
bool is_ffi_call(const hlo::Instruction& x);

// A call site. Thread-safe.
class FfiCall {
 public:
  // Runs the handler's first stage, if it has one. Errors: those of FfiAttributes, and of the
  // handler. REQUIRES: is_ffi_call(x).
  explicit FfiCall(const hlo::Instruction& x);
  FfiCall(const FfiCall&) = delete;
  FfiCall& operator=(const FfiCall&) = delete;

  // Runs the later stages on the buffers of the operands, then of the results, whose sizes are the
  // instruction's; null for tokens. Returns when the handler's work has ended. Errors: the
  // handler's.
  void run(std::span<void* const> buffers) const;

 private:
  struct BufferType {
    XLA_FFI_DataType type;
    std::vector<int64_t> dims;
  };

  void call(XLA_FFI_Handler* handler, XLA_FFI_ExecutionStage stage,
            std::span<XLA_FFI_Buffer> buffers, XLA_FFI_ExecutionContext& context) const;

  std::string target_;
  XLA_FFI_Handler_Bundle handler_;
  FfiAttributes attributes_;
  std::vector<BufferType> types_;  // of operands, then of results
  size_t num_operands_ = 0;
  mutable FfiStates states_;
};

}  // namespace systole::runtime
