// Copies that bypass the caches.
#pragma once

#include <cstdint>

namespace systole::cpu {

// Copies `bytes` bytes to memory that will not be read soon, writing whole cache lines without
// reading them. Streamed stores are not ordered with other stores until end_streams(). REQUIRES:
// the memory does not overlap.
void stream(void* to, const void* from, int64_t bytes);

inline constexpr int64_t kLineBytes = 64;  // bytes of a cache line

// Streams `count` contiguous lines to lines `stride` bytes apart. REQUIRES: `stride` is a multiple
// of a line. If `to` is not aligned to a line, the stores go through the caches.
void stream_lines(void* to, int64_t stride, const void* from, int64_t count);

// Runs of bytes, and where they go.
struct CopiedRuns {
  const void* from;
  int64_t from_step;  // bytes from run to run
  void* to;
  int64_t to_step;
  int64_t bytes;  // of a run
  int64_t count;
};
// Copies them one by one, with `streamed` past the caches. REQUIRES: the memory does not overlap.
void copy_runs(const CopiedRuns& runs, bool streamed);

// Orders the streamed stores of this thread before its later stores.
void end_streams();

}  // namespace systole::cpu
