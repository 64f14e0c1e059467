// From LLVM's intermediate code to machine code in this process.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "systole/backends/cpu/kernels/run_context.h"

namespace llvm {
class Module;
}

namespace systole::cpu {

// The machine that code is made for: the one we run on.
struct HostTarget {
  std::string cpu;       // LLVM's name of it
  std::string features;  // "+avx512f,..."
  int vector_bits = 128;
  bool has_fma = false;
  int64_t streamed_bytes =
      0;  // arrays from this size on do not stay in a cache until they are read
};

class CodeCache;

struct JitOptions {
  bool optimize = true;
  CodeCache* cache = nullptr;  // where code is kept for other processes; null: nowhere
  ThreadPool* pool = nullptr;  // the threads that make code; null: the caller's alone
};

// Machine code, and the memory it lies in. Freed with it; no call may be running then.
class CompiledCode {
 public:
  virtual ~CompiledCode() = default;
  virtual MainFunction main() const = 0;
  virtual int64_t code_bytes() const = 0;  // of the object files
};

// Where code comes from.
enum class CodeOrigin { made, memory, disk };
struct JitResult {
  std::shared_ptr<const CompiledCode> code;
  CodeOrigin origin = CodeOrigin::made;
};

// LLVM in this process. Thread-safe.
class Jit {
 public:
  virtual ~Jit() = default;
  static std::unique_ptr<Jit> create();

  virtual const HostTarget& target() const = 0;
  // Fills a module (whose functions have one external name, "main"), optimises it and makes code of
  // it. Code is known by what it is made from: the module as it was filled, `optimize`, the
  // versions of Systole and of LLVM, the CPU and its features. What is in use by someone, or lies
  // in the cache, is not made again. Errors: INTERNAL with LLVM's message; whatever `fill` throws.
  virtual JitResult compile(const std::function<void(llvm::Module&)>& fill,
                            const JitOptions& options) = 0;
};

}  // namespace systole::cpu
