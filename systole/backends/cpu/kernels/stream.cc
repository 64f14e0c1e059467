#include "systole/backends/cpu/kernels/stream.h"

#include <algorithm>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace systole::cpu {

#if defined(__SSE2__)

namespace {

constexpr int64_t kLine = 64;

void stream_line(std::byte* to, const std::byte* from) {
  const auto* source = reinterpret_cast<const __m128i*>(from);
  auto* target = reinterpret_cast<__m128i*>(to);
  const __m128i a = _mm_loadu_si128(source);
  const __m128i b = _mm_loadu_si128(source + 1);
  const __m128i c = _mm_loadu_si128(source + 2);
  const __m128i d = _mm_loadu_si128(source + 3);
  _mm_stream_si128(target, a);
  _mm_stream_si128(target + 1, b);
  _mm_stream_si128(target + 2, c);
  _mm_stream_si128(target + 3, d);
}

}  // namespace

void stream(void* to, const void* from, int64_t bytes) {
  auto* target = static_cast<std::byte*>(to);
  const auto* source = static_cast<const std::byte*>(from);
  // Up to the first line that is written as a whole.
  const auto past = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) % kLine);
  const int64_t head = std::min(bytes, past == 0 ? 0 : kLine - past);
  std::memcpy(target, source, static_cast<size_t>(head));
  int64_t i = head;
  for (; i + kLine <= bytes; i += kLine) stream_line(target + i, source + i);
  std::memcpy(target + i, source + i, static_cast<size_t>(bytes - i));
}

void end_streams() { _mm_sfence(); }

#else

void stream(void* to, const void* from, int64_t bytes) {
  std::memcpy(to, from, static_cast<size_t>(bytes));
}

void end_streams() {}

#endif

}  // namespace systole::cpu
