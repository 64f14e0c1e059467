// The backend "cpu": compiles programs for this machine.
#pragma once

#include <memory>

#include "systole/runtime/client.h"
#include "systole/runtime/client_options.h"
#include "systole/runtime/memory.h"

namespace systole::runtime {
// Registers the backend as "cpu". Called once, by the generated register_backends().
void register_cpu_backend();
}  // namespace systole::runtime

namespace systole::cpu {

// Returns a client whose devices are this machine; see runtime::host_client_options(). Thread-safe.
// A program may use `memory_bytes` of it. Replicas whose arrays do not fit into them side by side
// run one after another.
//
// A serialised executable is its program and its CompileOptions, without machine code:
// deserialize() compiles it again. That is fast where the cache of compiled code (jit/code_cache.h)
// has it, and the bytes fit any machine. An executable keeps a copy of its program for this, which
// shares the memory of constants. The bytes leave out CompileOptions::cache_folder. Programs of
// several processes are UNIMPLEMENTED.
std::unique_ptr<runtime::Client> make_client(const runtime::ClientOptions& options = {},
                                             int64_t memory_bytes = runtime::host_memory_bytes());

}  // namespace systole::cpu
