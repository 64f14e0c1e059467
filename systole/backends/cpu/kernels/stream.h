// Copies that leave the caches alone.
#pragma once

#include <cstdint>

namespace systole::cpu {

// Copies `bytes` bytes to memory that will not be read soon: whole cache lines are written without
// being read first. What was streamed is not ordered with other stores until end_streams.
// REQUIRES: the memory does not overlap.
void stream(void* to, const void* from, int64_t bytes);

inline constexpr int64_t kLineBytes = 64;  // of a cache line

// The same for `count` lines that lie one behind the other and go `stride` bytes apart. REQUIRES:
// `stride` is a multiple of a line. (Where `to` is not, the caches see them after all.)
void stream_lines(void* to, int64_t stride, const void* from, int64_t count);

// Everything that this thread has streamed is seen by every thread that sees a later store of it.
void end_streams();

}  // namespace systole::cpu
