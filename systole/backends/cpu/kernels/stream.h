// Copies that leave the caches alone.
#pragma once

#include <cstdint>

namespace systole::cpu {

// Copies `bytes` bytes to memory that will not be read soon: whole cache lines are written without
// being read first. What was streamed is not ordered with other stores until end_streams.
// REQUIRES: the memory does not overlap.
void stream(void* to, const void* from, int64_t bytes);

// Everything that this thread has streamed is seen by every thread that sees a later store of it.
void end_streams();

}  // namespace systole::cpu
