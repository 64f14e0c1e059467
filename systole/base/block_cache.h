// A cache of large memory blocks. A new block of a megabyte costs some hundred page faults, which
// take longer than most ops need to fill it. Blocks from 4 MB on use huge pages where the system
// has them.
#pragma once

#include <cstddef>

namespace systole {

// Blocks are 64-byte aligned. The cache keeps up to 64 MB of freed blocks of 64 KB to 32 MB for
// later requests of about their size, and releases them if memory is short. Thread-safe.

// Returns null if memory is short.
void* allocate_block(size_t bytes);
// REQUIRES: `bytes` is that of allocate_block.
void free_block(void* block, size_t bytes);

}  // namespace systole
