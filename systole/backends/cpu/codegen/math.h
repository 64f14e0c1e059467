// Transcendental functions of one element. Every function gives the same bits at every place of a
// loop, vectorised or not, and is within 2 units in the last place.
#pragma once

#include "systole/backends/cpu/codegen/function_emitter.h"

namespace systole::cpu {

enum class Math : uint8_t {
  atan2,
  cbrt,
  cos,
  exp,
  expm1,
  log,
  log1p,
  logistic,
  pow,
  sin,
  tan,
  tanh
};

// x (and y) are floats or doubles.
llvm::Value* emit_math(FunctionEmitter& f, Math function, llvm::Value* x, llvm::Value* y = nullptr);

}  // namespace systole::cpu
