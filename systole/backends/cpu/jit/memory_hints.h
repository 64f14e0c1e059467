// What code generation knows of an array's way through memory, told to the optimised code. Names of
// alias scopes carry it: the one mark of loads and stores that LLVM's vectoriser keeps.
#pragma once

#include <cstdint>
#include <string>

namespace llvm {
class Module;
}

namespace systole::cpu {

// The scope of stores to memory that is not read soon.
inline constexpr const char* kStreamedScope = "systole.streamed";
// The scope of loads that want what lies `bytes` behind them fetched.
std::string ahead_scope(int64_t bytes);

// What a loop through a whole array has fetched ahead: it would wait at every page.
inline constexpr int64_t kAheadBytes = 2048;

// Makes the vectors' stores in such scopes, where they are known to be aligned, go past the caches,
// and adds the fetches to the vectors' loads.
void apply_memory_hints(llvm::Module& module);

}  // namespace systole::cpu
