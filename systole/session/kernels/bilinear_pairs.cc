#include "systole/session/kernels/bilinear_pairs.h"

#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace systole {
namespace {

// With more channels, a pixel and its neighbour might not fit into a narrow window.
constexpr int64_t kMaxChannels = 4;
// Lanes of a step. Its window has four bytes for each.
constexpr int64_t kNarrow = 4;
constexpr int64_t kWide = 16;

// Selects one byte of the window for each 32-bit lane and zeros for its other three bytes.
constexpr uint32_t kNumber = 0x80808000U;

constexpr int64_t window_bytes(int64_t lanes) { return 4 * lanes; }

#if defined(__x86_64__)

bool has_narrow() {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}

bool has_wide() {
  static const bool has = has_narrow() && __builtin_cpu_supports("avx512bw") != 0 &&
                          __builtin_cpu_supports("avx512vbmi") != 0;
  return has;
}

// The sources of an output row.
struct Taps {
  const uint8_t* low;  // rows of the image
  const uint8_t* high;
  float fraction;  // weight of the second
  const BilinearPairs::Step* steps;
  const BilinearPairs::Lanes* lanes;
  int64_t count;
};

// The number of narrow steps in one Lanes.
constexpr int64_t kNarrowSteps = kWide / kNarrow;

// Two narrow steps at once.
struct NarrowLanes {
  __m256i left;
  __m256i right;
  __m256 fractions;
};

[[gnu::target("avx2")]] inline __m256i eight_numbers(const uint32_t* at) {
  return _mm256_load_si256(reinterpret_cast<const __m256i*>(at));
}

[[gnu::target("avx2")]] inline __m256 along_narrow(const uint8_t* row,
                                                   const BilinearPairs::Step* steps,
                                                   const NarrowLanes& lanes) {
  const auto* const first = reinterpret_cast<const __m128i*>(row + steps[0].from);
  const auto* const second = reinterpret_cast<const __m128i*>(row + steps[1].from);
  const __m256i windows = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(first)),
                                                  _mm_loadu_si128(second), 1);
  const __m256 left = _mm256_cvtepi32_ps(_mm256_shuffle_epi8(windows, lanes.left));
  const __m256 right = _mm256_cvtepi32_ps(_mm256_shuffle_epi8(windows, lanes.right));
  return _mm256_add_ps(left, _mm256_mul_ps(_mm256_sub_ps(right, left), lanes.fractions));
}

// Interpolates along the width first, then between the rows, to round as TensorFlow's kernel does.
// (Arguments by value: stores to `out` then cannot alias them.)
[[gnu::target("avx2")]] void mix_narrow(Taps taps, float* out) {
  const __m256 fraction = _mm256_set1_ps(taps.fraction);
  for (int64_t i = 0; i < taps.count; i += 2) {
    const BilinearPairs::Lanes& all = taps.lanes[i / kNarrowSteps];
    const int64_t at = i % kNarrowSteps * kNarrow;
    const NarrowLanes lanes{.left = eight_numbers(all.left + at),
                            .right = eight_numbers(all.right + at),
                            .fractions = _mm256_load_ps(all.fractions + at)};
    const __m256 low = along_narrow(taps.low, taps.steps + i, lanes);
    const __m256 high = along_narrow(taps.high, taps.steps + i, lanes);
    const __m256 mixed = _mm256_add_ps(low, _mm256_mul_ps(_mm256_sub_ps(high, low), fraction));
    _mm_storeu_ps(out + taps.steps[i].to, _mm256_castps256_ps128(mixed));
    _mm_storeu_ps(out + taps.steps[i + 1].to, _mm256_extractf128_ps(mixed, 1));
  }
}

// One step.
struct WideLanes {
  __m512i left;
  __m512i right;
  __m512 fractions;
};

// Rounds the product by itself: the compiler must not fuse it with the following addition.
[[gnu::target("avx512f")]] inline __m512 wide_product(__m512 a, __m512 b) {
  __m512 product = _mm512_mul_ps(a, b);
  asm("" : "+v"(product));
  return product;
}

[[gnu::target("avx512bw,avx512vbmi")]] inline __m512 along_wide(const uint8_t* window,
                                                                const WideLanes& lanes) {
  constexpr __mmask64 kOneOfFour = 0x1111111111111111U;
  const __m512i bytes = _mm512_loadu_si512(window);
  const __m512i left = _mm512_maskz_permutexvar_epi8(kOneOfFour, lanes.left, bytes);
  const __m512i right = _mm512_maskz_permutexvar_epi8(kOneOfFour, lanes.right, bytes);
  const __m512 from = _mm512_cvtepi32_ps(left);
  return _mm512_add_ps(
      from, wide_product(_mm512_sub_ps(_mm512_cvtepi32_ps(right), from), lanes.fractions));
}

[[gnu::target("avx512bw,avx512vbmi")]] void mix_wide(Taps taps, float* out) {
  const __m512 fraction = _mm512_set1_ps(taps.fraction);
  for (int64_t i = 0; i < taps.count; ++i) {
    const WideLanes lanes{.left = _mm512_load_si512(taps.lanes[i].left),
                          .right = _mm512_load_si512(taps.lanes[i].right),
                          .fractions = _mm512_load_ps(taps.lanes[i].fractions)};
    const __m512 low = along_wide(taps.low + taps.steps[i].from, lanes);
    const __m512 high = along_wide(taps.high + taps.steps[i].from, lanes);
    _mm512_storeu_ps(out + taps.steps[i].to,
                     _mm512_add_ps(low, wide_product(_mm512_sub_ps(high, low), fraction)));
  }
}

// Returns 0 if the machine supports none.
int64_t lanes_for(int64_t row_bytes, bool wide) {
  if (wide && has_wide() && row_bytes >= window_bytes(kWide)) return kWide;
  return has_narrow() && row_bytes >= window_bytes(kNarrow) ? kNarrow : 0;
}

void mix_row(const Taps& taps, int64_t lanes, float* out) {
  lanes == kWide ? mix_wide(taps, out) : mix_narrow(taps, out);
}

#else

int64_t lanes_for(int64_t, bool) { return 0; }

#endif

}  // namespace

bool BilinearPairs::takes(const ResizeAxes& axes, int64_t height, int64_t width, int64_t channels) {
  const auto rows = static_cast<int64_t>(axes.rows.low.size());
  return rows <= height && channels <= kMaxChannels && lanes_for(width * channels, false) > 0;
}

BilinearPairs::BilinearPairs(const ResizeAxes& axes, int64_t width, int64_t channels, bool wide)
    : axes_(axes),
      row_bytes_(width * channels),
      channels_(channels),
      numbers_(static_cast<int64_t>(axes.columns.low.size()) * channels),
      step_lanes_(lanes_for(row_bytes_, wide)),
      row_(static_cast<size_t>(numbers_ + step_lanes_)) {
  add_steps();
}

void BilinearPairs::add_steps() {
  const auto most = static_cast<size_t>(numbers_ / step_lanes_ + 2);
  steps_.reserve(most);
  lanes_.reserve(most);
  for (int64_t first = 0; first < numbers_;) {
    // No window reaches past the end of its row.
    const auto pixel = static_cast<size_t>(first / channels_);
    const int64_t from =
        std::min(axes_.columns.low[pixel] * channels_, row_bytes_ - window_bytes(step_lanes_));
    first += add_step({.from = static_cast<int32_t>(from), .to = static_cast<int32_t>(first)});
  }
  // Narrow steps run two at a time.
  if (steps_.size() % 2 == 1) add_step(steps_.back());
}

// Returns the number of elements that the step computes.
int64_t BilinearPairs::add_step(const Step step) {
  const int64_t before = static_cast<int64_t>(steps_.size()) * step_lanes_;
  steps_.push_back(step);
  if (before % kWide == 0) lanes_.emplace_back();
  Lanes& lanes = lanes_.back();
  auto pixel = static_cast<size_t>(step.to / channels_);
  int64_t channel = step.to % channels_;
  int64_t made = 0;
  for (; made < step_lanes_ && step.to + made < numbers_; ++made) {
    const int64_t left = axes_.columns.low[pixel] * channels_ + channel - step.from;
    const int64_t right = axes_.columns.high[pixel] * channels_ + channel - step.from;
    if (right >= window_bytes(step_lanes_)) break;
    const int64_t lane = before % kWide + made;
    lanes.left[lane] = kNumber | static_cast<uint32_t>(left);
    lanes.right[lane] = kNumber | static_cast<uint32_t>(right);
    lanes.fractions[lane] = axes_.columns.fraction[pixel];
    if (++channel == channels_) {
      channel = 0;
      ++pixel;
    }
  }
  return made;
}

void BilinearPairs::run(const uint8_t* image, float* out) {
#if defined(__x86_64__)
  int64_t left = static_cast<int64_t>(axes_.rows.low.size()) * numbers_;
  for (size_t y = 0; y < axes_.rows.low.size(); ++y, out += numbers_, left -= numbers_) {
    const bool at_end = left < numbers_ + step_lanes_;
    mix_row({.low = image + axes_.rows.low[y] * row_bytes_,
             .high = image + axes_.rows.high[y] * row_bytes_,
             .fraction = axes_.rows.fraction[y],
             .steps = steps_.data(),
             .lanes = lanes_.data(),
             .count = static_cast<int64_t>(steps_.size())},
            step_lanes_, at_end ? row_.data() : out);
    if (at_end) std::copy_n(row_.begin(), numbers_, out);
  }
#else
  static_cast<void>(image);
  static_cast<void>(out);
#endif
}

}  // namespace systole
