#include "systole/session/bilinear_pairs.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace systole {
namespace {

// Bytes that are read of a pixel, and floats that are written, be there as many channels or fewer.
constexpr int64_t kLanes = 4;

#if defined(__x86_64__)

bool has_instructions() {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}

int32_t four_bytes(const uint8_t* at) {
  int32_t value = 0;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

struct Taps {
  const uint8_t* low;
  const uint8_t* high;
  const int32_t* left;
  const int32_t* right;
  const float* fractions;
  float fraction;  // between the rows
};

// The pixel of `low` and that of `high`, side by side.
[[gnu::target("avx2")]] inline __m256 pair(const Taps& taps, int32_t offset) {
  const __m128i low = _mm_cvtsi32_si128(four_bytes(taps.low + offset));
  const __m128i both = _mm_insert_epi32(low, four_bytes(taps.high + offset), 1);
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(both));
}

// Along the width first, then between the rows, as TensorFlow's kernel rounds.
[[gnu::target("avx2")]] inline __m128 pixel(const Taps& taps, int64_t i) {
  const __m256 left = pair(taps, taps.left[i]);
  const __m256 right = pair(taps, taps.right[i]);
  const __m256 rows = _mm256_add_ps(
      left, _mm256_mul_ps(_mm256_sub_ps(right, left), _mm256_set1_ps(taps.fractions[i])));
  const __m128 low = _mm256_castps256_ps128(rows);
  const __m128 high = _mm256_extractf128_ps(rows, 1);
  return _mm_add_ps(low, _mm_mul_ps(_mm_sub_ps(high, low), _mm_set1_ps(taps.fraction)));
}

[[gnu::target("avx2")]] void mix_row(const Taps& taps, int64_t columns, int64_t channels,
                                     float* out) {
  // What is written behind a pixel is overwritten by the next: where there are as many.
  const int64_t whole = columns + 1 - (kLanes + channels - 1) / channels;
  int64_t i = 0;
  for (; i < whole; ++i, out += channels) _mm_storeu_ps(out, pixel(taps, i));
  for (; i < columns; ++i, out += channels) {
    float last[kLanes];
    _mm_storeu_ps(last, pixel(taps, i));
    std::copy_n(last, channels, out);
  }
}

#endif

}  // namespace

bool BilinearPairs::takes(const ResizeAxes& axes, int64_t height, int64_t channels) {
#if defined(__x86_64__)
  const auto rows = static_cast<int64_t>(axes.rows.low.size());
  return has_instructions() && channels <= kLanes && rows <= height && !axes.columns.low.empty();
#else
  static_cast<void>(axes);
  return height < 0 && channels < 0;
#endif
}

BilinearPairs::BilinearPairs(const ResizeAxes& axes, int64_t height, int64_t width,
                             int64_t channels)
    : axes_(axes),
      height_(height),
      row_bytes_(width * channels),
      channels_(channels),
      left_(axes.columns.low),
      right_(axes.columns.high),
      last_row_(static_cast<size_t>(row_bytes_ + kLanes)) {
  for (int32_t& at : left_) at *= static_cast<int32_t>(channels);
  for (int32_t& at : right_) at *= static_cast<int32_t>(channels);
}

const uint8_t* BilinearPairs::row(const uint8_t* image, int64_t y) {
  return y + 1 == height_ ? last_row_.data() : image + y * row_bytes_;
}

void BilinearPairs::run(const uint8_t* image, float* out) {
#if defined(__x86_64__)
  std::copy_n(image + (height_ - 1) * row_bytes_, row_bytes_, last_row_.begin());
  const auto columns = static_cast<int64_t>(left_.size());
  for (size_t y = 0; y < axes_.rows.low.size(); ++y, out += columns * channels_) {
    const Taps taps{.low = row(image, axes_.rows.low[y]),
                    .high = row(image, axes_.rows.high[y]),
                    .left = left_.data(),
                    .right = right_.data(),
                    .fractions = axes_.columns.fraction.data(),
                    .fraction = axes_.rows.fraction[y]};
    mix_row(taps, columns, channels_, out);
  }
#else
  static_cast<void>(image);
  static_cast<void>(out);
#endif
}

}  // namespace systole
