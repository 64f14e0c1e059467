#include "systole/backends/cpu/kernels/stream.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace systole::cpu {

namespace {

void copy_through(std::byte* to, int64_t stride, const std::byte* from, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * stride, from + i * kLineBytes, kLineBytes);
}

}  // namespace

#if defined(__x86_64__)

namespace {

void copy_lines(std::byte* to, int64_t stride, const std::byte* from, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const auto* source = reinterpret_cast<const __m128i*>(from + i * kLineBytes);
    auto* target = reinterpret_cast<__m128i*>(to + i * stride);
    __m128i parts[4];
    for (int k = 0; k < 4; ++k) parts[k] = _mm_loadu_si128(source + k);
    for (int k = 0; k < 4; ++k) _mm_stream_si128(target + k, parts[k]);
  }
}

// One store a line: a line that is written in pieces may leave the write buffers before it is
// complete.
__attribute__((target("avx512f"))) void copy_whole_lines(std::byte* to, int64_t stride,
                                                         const std::byte* from, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i * stride),
                        _mm512_loadu_si512(from + i * kLineBytes));
}

}  // namespace

void stream_lines(void* to, int64_t stride, const void* from, int64_t count) {
  static const auto past_caches =
      __builtin_cpu_supports("avx512f") != 0 ? copy_whole_lines : copy_lines;
  const auto copy = reinterpret_cast<uintptr_t>(to) % kLineBytes == 0 ? past_caches : copy_through;
  copy(static_cast<std::byte*>(to), stride, static_cast<const std::byte*>(from), count);
}

void stream(void* to, const void* from, int64_t bytes) {
  auto* target = static_cast<std::byte*>(to);
  const auto* source = static_cast<const std::byte*>(from);
  // Up to the first line that is written as a whole, the whole lines, and the rest.
  const auto past = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) % kLineBytes);
  const int64_t head = std::min(bytes, past == 0 ? 0 : kLineBytes - past);
  const int64_t lines = (bytes - head) / kLineBytes;
  const int64_t tail = head + lines * kLineBytes;
  std::memcpy(target, source, static_cast<size_t>(head));
  stream_lines(target + head, kLineBytes, source + head, lines);
  std::memcpy(target + tail, source + tail, static_cast<size_t>(bytes - tail));
}

void end_streams() { _mm_sfence(); }

#else

void stream(void* to, const void* from, int64_t bytes) {
  std::memcpy(to, from, static_cast<size_t>(bytes));
}

void stream_lines(void* to, int64_t stride, const void* from, int64_t count) {
  copy_through(static_cast<std::byte*>(to), stride, static_cast<const std::byte*>(from), count);
}

void end_streams() {}

#endif

}  // namespace systole::cpu
