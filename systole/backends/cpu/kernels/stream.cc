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

constexpr int64_t kMaxShortRun = 2048;

void copy_one_by_one(const CopiedRuns& runs) {
  const auto* from = static_cast<const std::byte*>(runs.from);
  auto* to = static_cast<std::byte*>(runs.to);
  for (int64_t i = 0; i < runs.count; ++i)
    std::memcpy(to + i * runs.to_step, from + i * runs.from_step, static_cast<size_t>(runs.bytes));
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

namespace {

void stream_runs(const CopiedRuns& runs) {
  const auto* from = static_cast<const std::byte*>(runs.from);
  auto* to = static_cast<std::byte*>(runs.to);
  for (int64_t i = 0; i < runs.count; ++i)
    stream(to + i * runs.to_step, from + i * runs.from_step, runs.bytes);
}

// Without calls: they take as long as a short run.
template <bool kStreamed>
__attribute__((target("avx512f,avx512bw"))) void copy_short_runs(const CopiedRuns& runs) {
  const int64_t lines = runs.bytes / kLineBytes;
  const int64_t rest = runs.bytes % kLineBytes;
  const __mmask64 last = (uint64_t{1} << rest) - 1;
  const auto* from = static_cast<const std::byte*>(runs.from);
  auto* to = static_cast<std::byte*>(runs.to);
  for (int64_t i = 0; i < runs.count; ++i, from += runs.from_step, to += runs.to_step) {
    for (int64_t k = 0; k < lines; ++k) {
      const __m512i line = _mm512_loadu_si512(from + k * kLineBytes);
      if (kStreamed) {
        _mm512_stream_si512(reinterpret_cast<__m512i*>(to + k * kLineBytes), line);
      } else {
        _mm512_storeu_si512(to + k * kLineBytes, line);
      }
    }
    if (rest == 0) continue;
    const int64_t at = lines * kLineBytes;
    _mm512_mask_storeu_epi8(to + at, last, _mm512_maskz_loadu_epi8(last, from + at));
  }
}

}  // namespace

void copy_runs(const CopiedRuns& runs, bool streamed) {
  static const bool wide =
      __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0;
  const bool is_short = wide && runs.bytes <= kMaxShortRun;
  const bool by_lines = reinterpret_cast<uintptr_t>(runs.to) % kLineBytes == 0 &&
                        runs.to_step % kLineBytes == 0 && runs.bytes % kLineBytes == 0;
  if (!streamed) return is_short ? copy_short_runs<false>(runs) : copy_one_by_one(runs);
  if (is_short && by_lines) return copy_short_runs<true>(runs);
  stream_runs(runs);
}

void end_streams() { _mm_sfence(); }

#else

void stream(void* to, const void* from, int64_t bytes) {
  std::memcpy(to, from, static_cast<size_t>(bytes));
}

void stream_lines(void* to, int64_t stride, const void* from, int64_t count) {
  copy_through(static_cast<std::byte*>(to), stride, static_cast<const std::byte*>(from), count);
}

void copy_runs(const CopiedRuns& runs, bool) { copy_one_by_one(runs); }

void end_streams() {}

#endif

}  // namespace systole::cpu
