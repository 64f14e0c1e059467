// Memory of a thread for the tasks of kernels.
#pragma once

#include <cstdint>

namespace systole::cpu {

// Returns memory of the calling thread for at least this many elements. The thread's next call
// returns the same memory.
float* thread_memory(int64_t elements);

}  // namespace systole::cpu
