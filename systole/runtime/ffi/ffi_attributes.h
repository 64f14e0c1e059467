// The attributes of a custom call as handlers of XLA's FFI read them.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "systole/runtime/ffi/ffi_c_api.h"

namespace systole::runtime {

// Owns attributes and what they point to. Immutable; its address stays.
class FfiAttributes {
 public:
  // Reads a dictionary in MLIR's text: {index = 3 : ui64, name = "x", scale = 0.5 : f32, dims =
  // array<i64: 1, 2>, more = {...}}; "" for none. Errors: INVALID_ARGUMENT, beginning with
  // `target`; UNIMPLEMENTED for kinds that the FFI does not have.
  FfiAttributes(std::string_view text, std::string_view target);
  ~FfiAttributes();
  FfiAttributes(const FfiAttributes&) = delete;
  FfiAttributes& operator=(const FfiAttributes&) = delete;

  const XLA_FFI_Attrs& attrs() const;

 private:
  class Reader;
  struct Dictionary;
  std::unique_ptr<Dictionary> top_;
};

}  // namespace systole::runtime
