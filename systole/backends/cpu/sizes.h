// Small arithmetic of sizes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace systole::cpu {

// An index as the standard library counts.
inline size_t u(int64_t i) { return static_cast<size_t>(i); }

// Buffers begin at cache lines, in bytes.
inline constexpr int64_t kAlignment = 64;
inline int64_t aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace systole::cpu
