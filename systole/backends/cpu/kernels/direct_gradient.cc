#include "systole/backends/cpu/kernels/direct_gradient.h"

#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "systole/backends/cpu/kernels/idle_memory.h"
#include "systole/backends/cpu/kernels/parallel.h"
#include "systole/backends/cpu/sizes.h"

namespace systole::cpu {
namespace {

constexpr int64_t kMaxTapSums = 192 * 1024;       // of a part: they stay in the second-level cache
constexpr int64_t kTapImageElements = 48 * 1024;  // of images, at a time: the same
constexpr int64_t kNearPixels = 128;              // of the output, whose panels stay in the first

constexpr int64_t kTapPlaces = 14;  // of a panel
constexpr int64_t kTapVectors = 2;
constexpr int64_t kTapFeatures = kTapVectors * kDirectLanes;
constexpr int64_t kTapSums = kTapPlaces * kTapFeatures;

// What one panel reads, and its sums: places in the window (a row, a column and a feature) by
// output features, dense.
struct TapPanel {
  const float* image;     // for the first pixel
  const int64_t* places;  // in the image
  int64_t step;           // from pixel to pixel
  int64_t image_row;      // from row to row of the output
  const float* gradient;  // for the first pixel
  int64_t gradient_step;
  int64_t rows;
  int64_t columns;
  float* sums;  // to be added to
};

#if defined(__x86_64__)

// With `Together` the window elements are contiguous.
template <bool Together>
__attribute__((target("avx512f"))) void sum_taps(const TapPanel& p) {
  __m512 sums[kTapPlaces][kTapVectors];
  const float* image[kTapPlaces];
#pragma GCC unroll 14
  for (int j = 0; j < kTapPlaces; ++j) {
    image[j] = p.image + (Together ? p.places[0] + j : p.places[j]);
#pragma GCC unroll 2
    for (int v = 0; v < kTapVectors; ++v)
      sums[j][v] = _mm512_loadu_ps(p.sums + (j * kTapVectors + v) * kDirectLanes);
  }
  const float* gradient = p.gradient;
  for (int64_t row = 0; row < p.rows; ++row) {
    int64_t at = row * p.image_row;
    for (int64_t i = 0; i < p.columns; ++i, at += p.step, gradient += p.gradient_step) {
      const __m512 low = _mm512_loadu_ps(gradient);
      const __m512 high = _mm512_loadu_ps(gradient + kDirectLanes);
#pragma GCC unroll 14
      for (int j = 0; j < kTapPlaces; ++j) {
        const __m512 pixel = _mm512_set1_ps(Together ? image[0][at + j] : image[j][at]);
        sums[j][0] = _mm512_fmadd_ps(pixel, low, sums[j][0]);
        sums[j][1] = _mm512_fmadd_ps(pixel, high, sums[j][1]);
      }
    }
  }
#pragma GCC unroll 14
  for (int j = 0; j < kTapPlaces; ++j) {
#pragma GCC unroll 2
    for (int v = 0; v < kTapVectors; ++v)
      _mm512_storeu_ps(p.sums + (j * kTapVectors + v) * kDirectLanes, sums[j][v]);
  }
}

#else

template <bool Together>
void sum_taps(const TapPanel&) {}

#endif

// The places of one panel.
struct Taps {
  int64_t first = 0;             // number of the first place, and how many there are; the panel
  int64_t count = 0;             // computes others besides
  std::vector<int64_t> offsets;  // in padded lines
  bool together = false;
  int64_t first_row = 0, last_row = 0;  // of the window
};

// Where a row of the window fills panels, they lie in one row each.
std::vector<Taps> taps_of(const DirectSizes& s) {
  const std::vector<int64_t> places = window_places(s);
  const auto all = static_cast<int64_t>(places.size());
  const bool by_row = s.depth() >= 4 * kTapPlaces;
  std::vector<Taps> result;
  for (int64_t first = 0; first < all; first += result.back().count) {
    const int64_t row = first / s.depth();
    const int64_t end = std::min(first + kTapPlaces, by_row ? (row + 1) * s.depth() : all);
    Taps taps{.first = first, .count = end - first, .together = by_row, .first_row = row};
    // A full panel that ends there reads no more than the row.
    const int64_t from = by_row ? end - kTapPlaces : first;
    for (int64_t k = from; k < from + kTapPlaces; ++k)
      taps.offsets.push_back(places[u(std::min(k, all - 1))]);
    taps.last_row = (end - 1) / s.depth();
    result.push_back(std::move(taps));
  }
  return result;
}

// Each part of the batch is summed up by itself, and the parts in their order.
class DirectGradient : public Kernel {
 public:
  explicit DirectGradient(const DirectSizes& sizes) : s_(sizes), taps_(taps_of(sizes)) {
    const int64_t lines = std::max<int64_t>(kTapImageElements / s_.line(), s_.kernel_height);
    rows_ = std::min((lines - s_.kernel_height) / s_.row_stride + 1, s_.rows);
    near_rows_ = std::clamp<int64_t>(kNearPixels / s_.columns, 1, rows_);
  }

  void run(std::span<void* const> buffers, RunContext& context) const override {
    const int64_t parts = std::min(s_.batch, kMaxGradientParts);
    auto sums = sums_.take(parts * part_size());
    const Arrays arrays{static_cast<const float*>(buffers[0]),
                        static_cast<const float*>(buffers[1])};
    run_in_parallel(context, parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part)
        run_part(arrays, s_.batch * part / parts, s_.batch * (part + 1) / parts,
                 sums->data<float>().data() + part * part_size());
    });
    auto* const kernel = static_cast<float*>(buffers[2]);
    run_in_parallel(context, tap_panels(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        merge(taps_[u(i)], sums->data<float>().data() + i * feature_panels() * kTapSums, parts,
              kernel);
    });
    sums_.give_back(std::move(sums));
  }

  // As all convolutions do: two kinds of threads would wait for each other's CPUs.
  bool uses_openmp() const override { return true; }

 private:
  struct Arrays {
    const float* images;
    const float* gradient;
  };

  int64_t tap_panels() const { return static_cast<int64_t>(taps_.size()); }
  int64_t feature_panels() const { return s_.out_features / kTapFeatures; }
  int64_t part_size() const { return tap_panels() * feature_panels() * kTapSums; }

  // Images [begin, end).
  void run_part(const Arrays& arrays, int64_t begin, int64_t end, float* sums) const {
    std::fill_n(sums, part_size(), 0.0F);
    for (int64_t image = begin; image < end; ++image) {
      for (int64_t first = 0; first < s_.rows; first += rows_) {
        const int64_t count = std::min(rows_, s_.rows - first);
        float* const padded = line_memory(s_.lines(rows_) * s_.line());
        pad_lines(s_, arrays.images + image * s_.height * s_.width * s_.features,
                  first * s_.row_stride, s_.lines(count), padded);
        const float* const gradient =
            arrays.gradient + (image * s_.rows + first) * s_.columns * s_.out_features;
        for (int64_t row = 0; row < count; row += near_rows_)
          run_rows(padded + row * s_.row_stride * s_.line(),
                   gradient + row * s_.columns * s_.out_features, first + row,
                   std::min(near_rows_, count - row), sums);
      }
    }
  }

  // All panels for `count` rows of the output, the first of which is number `first`.
  void run_rows(const float* lines, const float* gradient, int64_t first, int64_t count,
                float* sums) const {
    // Rows of the output that begin above this line of the image.
    const auto rows_before = [&](int64_t line) {
      const int64_t rows = (line + s_.low_rows + s_.row_stride - 1) / s_.row_stride;
      return std::clamp<int64_t>(rows - first, 0, count);
    };
    for (int64_t panel = 0; panel < feature_panels(); ++panel) {
      for (int64_t i = 0; i < tap_panels(); ++i) {
        const Taps& taps = taps_[u(i)];
        // Rows that read nothing but padding add nothing.
        const int64_t begin = rows_before(-taps.last_row);
        const int64_t end = rows_before(s_.height - taps.first_row);
        if (begin >= end) continue;
        const TapPanel work{
            .image = lines + begin * s_.row_stride * s_.line(),
            .places = taps.offsets.data(),
            .step = s_.column_stride * s_.features,
            .image_row = s_.row_stride * s_.line(),
            .gradient = gradient + begin * s_.columns * s_.out_features + panel * kTapFeatures,
            .gradient_step = s_.out_features,
            .rows = end - begin,
            .columns = s_.columns,
            .sums = sums + (i * feature_panels() + panel) * kTapSums};
        taps.together ? sum_taps<true>(work) : sum_taps<false>(work);
      }
    }
  }

  // Where the sums of one place of the window belong.
  float* place_in(float* kernel, int64_t place) const {
    const int64_t in_row = place % s_.depth();
    return kernel + s_.kernel_first + place / s_.depth() * s_.kernel_row +
           in_row / s_.features * s_.kernel_column + in_row % s_.features * s_.kernel_in;
  }

  void merge(const Taps& taps, const float* sums, int64_t parts, float* kernel) const {
    const int64_t skipped = taps.together ? kTapPlaces - taps.count : 0;
    for (int64_t panel = 0; panel < feature_panels(); ++panel, sums += kTapSums) {
      for (int64_t k = 0; k < taps.count; ++k) {
        float total[kTapFeatures] = {};
        const float* from = sums + (skipped + k) * kTapFeatures;
        for (int64_t part = 0; part < parts; ++part, from += part_size()) {
          for (int64_t o = 0; o < kTapFeatures; ++o) total[o] += from[o];
        }
        float* const to = place_in(kernel, taps.first + k) + panel * kTapFeatures * s_.kernel_out;
        for (int64_t o = 0; o < kTapFeatures; ++o) to[o * s_.kernel_out] = total[o];
      }
    }
  }

  DirectSizes s_;
  std::vector<Taps> taps_;
  int64_t rows_ = 1;       // of the output, for which images are padded at once
  int64_t near_rows_ = 1;  // of these, for which all panels run at once
  mutable IdleMemory sums_;
};

}  // namespace

bool fits_direct_gradient(const DirectSizes& s) {
  return s.out_features % kTapFeatures == 0 &&
         s.kernel_height * s.depth() * s.out_features <= kMaxTapSums;
}

std::unique_ptr<Kernel> make_direct_gradient_kernel(const DirectSizes& sizes) {
  return std::make_unique<DirectGradient>(sizes);
}

}  // namespace systole::cpu
