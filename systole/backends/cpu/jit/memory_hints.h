// Memory hints from code generation to optimised code. They are encoded in the names of alias
// scopes, the only metadata on loads and stores that LLVM's vectoriser keeps.
#pragma once

#include <cstdint>
#include <string>

namespace llvm {
class Module;
}

namespace systole::cpu {

// The scope of stores to memory that is not read soon.
inline constexpr const char* kStreamedScope = "systole.streamed";
// The scope of loads that prefetch the memory `bytes` after them.
std::string ahead_scope(int64_t bytes);

// Prefetch distance of a loop over a whole array, which would stall at every page.
inline constexpr int64_t kAheadBytes = 2048;

// Turns aligned vector stores in such scopes into non-temporal stores, and adds prefetches to
// vector loads.
void apply_memory_hints(llvm::Module& module);

}  // namespace systole::cpu
