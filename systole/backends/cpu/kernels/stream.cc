#include "systole/backends/cpu/kernels/stream.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace systole::cpu {

#if defined(__x86_64__)

namespace {

constexpr int64_t kLine = 64;

void stream_lines(std::byte* to, const std::byte* from, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += kLine) {
    __m128i parts[4];
    for (int k = 0; k < 4; ++k)
      parts[k] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i) + k);
    for (int k = 0; k < 4; ++k) _mm_stream_si128(reinterpret_cast<__m128i*>(to + i) + k, parts[k]);
  }
}

// One store a line: a line that is written in pieces may leave the write buffers before it is
// complete.
__attribute__((target("avx512f"))) void stream_whole_lines(std::byte* to, const std::byte* from,
                                                           int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += kLine)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i), _mm512_loadu_si512(from + i));
}

}  // namespace

void stream(void* to, const void* from, int64_t bytes) {
  static const auto copy_lines =
      __builtin_cpu_supports("avx512f") != 0 ? stream_whole_lines : stream_lines;
  auto* target = static_cast<std::byte*>(to);
  const auto* source = static_cast<const std::byte*>(from);
  // Up to the first line that is written as a whole, the whole lines, and the rest.
  const auto past = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) % kLine);
  const int64_t head = std::min(bytes, past == 0 ? 0 : kLine - past);
  const int64_t lines = (bytes - head) / kLine * kLine;
  std::memcpy(target, source, static_cast<size_t>(head));
  copy_lines(target + head, source + head, lines);
  std::memcpy(target + head + lines, source + head + lines,
              static_cast<size_t>(bytes - head - lines));
}

void end_streams() { _mm_sfence(); }

#else

void stream(void* to, const void* from, int64_t bytes) {
  std::memcpy(to, from, static_cast<size_t>(bytes));
}

void end_streams() {}

#endif

}  // namespace systole::cpu
