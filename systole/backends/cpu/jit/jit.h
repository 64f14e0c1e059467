// Compiles LLVM IR to machine code in this process.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "systole/backends/cpu/kernels/run_context.h"

namespace llvm {
class Module;
}

namespace systole::cpu {

// The target machine: this host.
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
  // Selects instructions and registers in one quick pass: a third of the compile time, slower code.
  bool runs_once = false;
  CodeCache* cache = nullptr;  // cache of code on disk; null: none
  ThreadPool* pool = nullptr;  // threads that compile; null: the caller's
};

// Machine code and its memory, freed with the object. REQUIRES: no call is running then.
class CompiledCode {
 public:
  virtual ~CompiledCode() = default;
  virtual MainFunction main() const = 0;
  // What `emit` returned when the code was made (Jit::compile).
  virtual const std::string& record() const = 0;
  virtual int64_t code_bytes() const = 0;  // size of the object files
};

enum class CodeOrigin { made, memory, disk };
struct JitResult {
  std::shared_ptr<const CompiledCode> code;
  CodeOrigin origin = CodeOrigin::made;
};

// The compiler. Thread-safe.
class Jit {
 public:
  virtual ~Jit() = default;
  static std::unique_ptr<Jit> create();

  virtual const HostTarget& target() const = 0;
  // Code is identified by a key of `program`, the first two options, LLVM's version, the sources
  // that code depends on, the CPU and its features. `program` says everything else that the code
  // depends on.

  // Returns the program's code if it is in use or in the cache, else nullopt. Code in the
  // cache that cannot be linked counts as absent, with a warning.
  virtual std::optional<JitResult> find(std::string_view program, const JitOptions& options) = 0;
  // Calls `emit` to build a module (whose only external function is "main"), optimises and compiles
  // it, and replaces the program's code in the cache. `emit` returns a record of what else was
  // made, which is kept with the code. Errors: INTERNAL with LLVM's message; exceptions of `emit`.
  virtual JitResult compile(std::string_view program,
                            const std::function<std::string(llvm::Module&)>& emit,
                            const JitOptions& options) = 0;
};

}  // namespace systole::cpu
