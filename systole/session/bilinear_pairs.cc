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
// Bytes that are read of a pixel with the one beside it.
constexpr int64_t kNeighbourBytes = 16;

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
  int64_t neighbours_begin;
  int64_t neighbours_end;
  const float* lane_fractions;
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

// Chooses the bytes of a pixel, as numbers, from those that begin `skipped` bytes before it.
[[gnu::target("avx2")]] inline __m256i lanes_behind(int64_t skipped) {
  const __m256i first = _mm256_set_epi32(3, 2, 1, 0, 3, 2, 1, 0);
  const __m256i zeros = _mm256_set1_epi32(static_cast<int32_t>(0x80808000U));
  return _mm256_or_si256(_mm256_add_epi32(first, _mm256_set1_epi32(static_cast<int32_t>(skipped))),
                         zeros);
}

[[gnu::target("avx2")]] inline __m128i sixteen_bytes(const uint8_t* at) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
}

struct Choice {
  __m256i left;
  __m256i right;
};

// Two pixels of the result, side by side, along the width of one row.
[[gnu::target("avx2")]] inline __m256 along_width(const uint8_t* row, const int32_t* left,
                                                  const Choice& choice, __m256 fractions) {
  const __m256i first = _mm256_castsi128_si256(sixteen_bytes(row + left[0]));
  const __m256i both = _mm256_inserti128_si256(first, sixteen_bytes(row + left[1]), 1);
  const __m256 low = _mm256_cvtepi32_ps(_mm256_shuffle_epi8(both, choice.left));
  const __m256 high = _mm256_cvtepi32_ps(_mm256_shuffle_epi8(both, choice.right));
  return _mm256_add_ps(low, _mm256_mul_ps(_mm256_sub_ps(high, low), fractions));
}

// Pixels [begin, end) of a row, all of them among the neighbours, two at a time. Returns the first
// that is left. (By value: what is written to `out` changes no pointer.)
[[gnu::target("avx2")]] int64_t mix_neighbours(Taps taps, int64_t begin, int64_t end,
                                               int64_t channels, float* out) {
  const Choice choice{.left = lanes_behind(0), .right = lanes_behind(channels)};
  const __m256 fraction = _mm256_set1_ps(taps.fraction);
  int64_t i = begin;
  for (; i + 1 < end; i += 2) {
    const __m256 fractions = _mm256_loadu_ps(taps.lane_fractions + i * kLanes);
    const __m256 low = along_width(taps.low, taps.left + i, choice, fractions);
    const __m256 high = along_width(taps.high, taps.left + i, choice, fractions);
    const __m256 mixed = _mm256_add_ps(low, _mm256_mul_ps(_mm256_sub_ps(high, low), fraction));
    _mm_storeu_ps(out + i * channels, _mm256_castps256_ps128(mixed));
    _mm_storeu_ps(out + (i + 1) * channels, _mm256_extractf128_ps(mixed, 1));
  }
  return i;
}

// What is written behind a pixel is overwritten by the next.
[[gnu::target("avx2")]] inline void mix_each(const Taps& taps, int64_t begin, int64_t end,
                                             int64_t channels, float* out) {
  for (int64_t i = begin; i < end; ++i) _mm_storeu_ps(out + i * channels, pixel(taps, i));
}

[[gnu::target("avx2")]] void mix_row(const Taps& taps, int64_t columns, int64_t channels,
                                     float* out) {
  // What is written behind a pixel is overwritten by the next: where there are as many.
  const int64_t whole = columns + 1 - (kLanes + channels - 1) / channels;
  const int64_t begin = std::min(taps.neighbours_begin, whole);
  const int64_t end = std::min(taps.neighbours_end, whole);
  mix_each(taps, 0, begin, channels, out);
  mix_each(taps, mix_neighbours(taps, begin, end, channels, out), whole, channels, out);
  for (int64_t i = std::max<int64_t>(whole, 0); i < columns; ++i) {
    float last[kLanes];
    _mm_storeu_ps(last, pixel(taps, i));
    std::copy_n(last, channels, out + i * channels);
  }
}

#endif

}  // namespace

bool BilinearPairs::takes(const ResizeAxes& axes, int64_t height, int64_t width, int64_t channels) {
#if defined(__x86_64__)
  const auto rows = static_cast<int64_t>(axes.rows.low.size());
  return has_instructions() && channels <= kLanes && rows <= height && !axes.columns.low.empty() &&
         width * channels >= kLanes;
#else
  static_cast<void>(axes);
  return height < 0 && width < 0 && channels < 0;
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
      last_row_(static_cast<size_t>(row_bytes_ + kNeighbourBytes)) {
  for (int32_t& at : left_) at *= static_cast<int32_t>(channels);
  for (int32_t& at : right_) at *= static_cast<int32_t>(channels);
  find_neighbours();
}

void BilinearPairs::find_neighbours() {
  // Only in the last row, which is a copy, is there nothing behind the end of a row.
  if (row_bytes_ < kNeighbourBytes) return;
  const auto columns = static_cast<int64_t>(left_.size());
  const auto are_neighbours = [&](int64_t i) {
    return right_[static_cast<size_t>(i)] == left_[static_cast<size_t>(i)] + channels_;
  };
  while (neighbours_begin_ < columns && !are_neighbours(neighbours_begin_)) ++neighbours_begin_;
  neighbours_end_ = neighbours_begin_;
  while (neighbours_end_ < columns && are_neighbours(neighbours_end_)) ++neighbours_end_;
  for (const float fraction : axes_.columns.fraction) {
    fractions_.insert(fractions_.end(), kLanes, fraction);
  }
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
                    .fraction = axes_.rows.fraction[y],
                    .neighbours_begin = neighbours_begin_,
                    .neighbours_end = neighbours_end_,
                    .lane_fractions = fractions_.data()};
    mix_row(taps, columns, channels_, out);
  }
#else
  static_cast<void>(image);
  static_cast<void>(out);
#endif
}

}  // namespace systole
