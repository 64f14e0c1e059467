#include "systole/backends/cpu/kernels/kernel_packing.h"

#include <algorithm>
#include <cstring>

#include "systole/backends/cpu/kernels/parallel.h"
#include "systole/backends/cpu/kernels/wide_square.h"

namespace systole::cpu {
namespace {

constexpr int64_t kFeaturesTogether = 16;

}  // namespace

// One thread reads each line of the kernel's memory, once: contiguous output features go to all
// blocks, others to one.
void KernelPacking::pack(const float* kernel, float* packed, const RunContext& context) const {
  const bool to_all = s_.kernel_out == 1;
  const int64_t parts =
      to_all ? (s_.features + kFeaturesTogether - 1) / kFeaturesTogether : s_.out_features / lanes_;
  run_in_parallel(context, window() * parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t place = i / parts;
      const int64_t part = i % parts;
      const float* const from = place_in(kernel, place);
      float* const to = packed + place * s_.features * lanes_;
      if (to_all) {
        pack_features(from, part * kFeaturesTogether, to);
      } else {
        pack_block(from + part * lanes_ * s_.kernel_out, to + part * block_elements());
      }
    }
  });
}

const float* KernelPacking::place_in(const float* kernel, int64_t place) const {
  return kernel + s_.kernel_first + place / s_.kernel_width * s_.kernel_row +
         place % s_.kernel_width * s_.kernel_column;
}

// Some features from `begin` on, of all blocks.
void KernelPacking::pack_features(const float* from, int64_t begin, float* to) const {
  constexpr auto kLaneBytes = static_cast<size_t>(kWideSide) * sizeof(float);
  const int64_t end = std::min(begin + kFeaturesTogether, s_.features);
  for (int64_t i = begin; i < end; ++i) {
    const float* line = from + i * s_.kernel_in;
    float* block = to + i * lanes_;
    for (int64_t o = 0; o < s_.out_features; o += lanes_, block += block_elements()) {
      for (int64_t lane = 0; lane < lanes_; lane += kWideSide)
        std::memcpy(block + lane, line + o + lane, kLaneBytes);
    }
  }
}

void KernelPacking::pack_block(const float* from, float* to) const {
  if (s_.kernel_in != 1 || !host_has_wide_squares()) return pack_elements(from, 0, to);
  const int64_t whole = s_.features / kWideSide * kWideSide;
  const auto* const bits = reinterpret_cast<const uint32_t*>(from);
  auto* const to_bits = reinterpret_cast<uint32_t*>(to);
  for (int64_t o = 0; o < lanes_; o += kWideSide) {
    for (int64_t i = 0; i < whole; i += kWideSide)
      transpose_wide_square(bits + o * s_.kernel_out + i, s_.kernel_out, to_bits + i * lanes_ + o,
                            lanes_);
  }
  pack_elements(from, whole, to);
}

// The features from `begin` on: along the kernel's lines of memory, few of them at a time.
void KernelPacking::pack_elements(const float* from, int64_t begin, float* to) const {
  for (int64_t first = begin; first < s_.features; first += kFeaturesTogether) {
    const int64_t last = std::min(first + kFeaturesTogether, s_.features);
    for (int64_t o = 0; o < lanes_; ++o) {
      for (int64_t i = first; i < last; ++i)
        to[i * lanes_ + o] = from[o * s_.kernel_out + i * s_.kernel_in];
    }
  }
}

}  // namespace systole::cpu
