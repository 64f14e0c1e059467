// Counter-based random numbers: pure functions of (key, counter), independent of threads and call
// order.
// Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
#pragma once

#include <array>
#include <cstdint>

namespace systole {

// Threefry-2x32 with 20 rounds: one 64-bit block of output for a 64-bit key and a 64-bit counter.
std::array<uint32_t, 2> threefry2x32(std::array<uint32_t, 2> key, std::array<uint32_t, 2> counter);

// Philox-4x32 with 10 rounds: one 128-bit block of output.
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 2> key, std::array<uint32_t, 4> counter);

// A stream of random values for host code (shuffles, tests): 32-bit word i depends only on (seed,
// stream, i). A value type; not thread-safe. next_u32 takes one word, next_u64, next_below (rarely
// more) and next_uniform two, next_normal four.
class RandomStream {
 public:
  explicit RandomStream(uint64_t seed, uint64_t stream = 0);
  uint32_t next_u32();
  uint64_t next_u64();
  // Uniform in [0, bound) without modulo bias. REQUIRES: bound > 0.
  uint64_t next_below(uint64_t bound);
  double next_uniform();  // [0, 1)
  double next_normal();   // mean 0, variance 1

  // The position in 32-bit words, to save and restore.
  uint64_t position() const { return position_; }
  void seek(uint64_t position);

 private:
  void fill_block();

  std::array<uint32_t, 2> key_;
  uint64_t stream_;
  uint64_t position_ = 0;
  std::array<uint32_t, 4> block_{};  // contains word position_, unless that starts a block
};

}  // namespace systole
