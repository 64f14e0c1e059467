// Large blocks of memory that are used again. A fresh one of a megabyte costs the system some
// hundred page faults, which is more than most ops take for what they write there. Those of 4 MB on
// ask the system for huge pages.
#pragma once

#include <cstddef>

namespace systole {

// Blocks are 64-byte aligned. Up to 64 MB of them are kept when they are given back, those of 64 KB
// to 32 MB, for requests that they fit well; all are given to the system when memory is short.
// Thread-safe.

// Null when memory is short.
void* allocate_block(size_t bytes);
// REQUIRES: `bytes` as allocate_block was given.
void free_block(void* block, size_t bytes);

}  // namespace systole
