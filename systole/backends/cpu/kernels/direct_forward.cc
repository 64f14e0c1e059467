#include "systole/backends/cpu/kernels/direct_forward.h"

#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "systole/backends/cpu/kernels/idle_memory.h"
#include "systole/backends/cpu/kernels/kernel_packing.h"
#include "systole/backends/cpu/kernels/parallel.h"
#include "systole/backends/cpu/sizes.h"

namespace systole::cpu {
namespace {

constexpr int64_t kPixels = 14;  // of a panel: columns of the output
constexpr int64_t kPixelVectors = 2;
constexpr int64_t kPixelFeatures = kPixelVectors * kDirectLanes;
constexpr int64_t kPaddedElements = 32 * 1024;  // of a task: they stay in the second-level cache
constexpr double kMaxPixels = 1.2;              // computed for one that is wanted

// What one panel reads and writes. The kernel's elements lie in the order in which they are used.
struct PixelPanel {
  const float* image;               // for the first pixel
  int64_t step;                     // from pixel to pixel
  std::span<const int64_t> places;  // of the window, in the image
  const float* kernel;
  float* output;
  int64_t output_step;
};

#if defined(__x86_64__)

__attribute__((target("avx512f"))) void compute_pixels(const PixelPanel& p) {
  __m512 sums[kPixels][kPixelVectors];
#pragma GCC unroll 14
  for (int i = 0; i < kPixels; ++i) {  // NOLINT(modernize-loop-convert): unrolled, as below
#pragma GCC unroll 2
    for (int v = 0; v < kPixelVectors; ++v) sums[i][v] = _mm512_setzero_ps();
  }
  const float* kernel = p.kernel;
  const int64_t step = p.step;
  for (const int64_t place : p.places) {
    const float* const image = p.image + place;
    const __m512 low = _mm512_loadu_ps(kernel);
    const __m512 high = _mm512_loadu_ps(kernel + kDirectLanes);
    kernel += kPixelFeatures;
#pragma GCC unroll 14
    for (int i = 0; i < kPixels; ++i) {
      const __m512 pixel = _mm512_set1_ps(image[i * step]);
      sums[i][0] = _mm512_fmadd_ps(pixel, low, sums[i][0]);
      sums[i][1] = _mm512_fmadd_ps(pixel, high, sums[i][1]);
    }
  }
#pragma GCC unroll 14
  for (int i = 0; i < kPixels; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kPixelVectors; ++v)
      _mm512_storeu_ps(p.output + i * p.output_step + v * kDirectLanes, sums[i][v]);
  }
}

#else

void compute_pixels(const PixelPanel&) {}

#endif

// Panels of 14 columns by 32 output features; a padded part of an image lies in a cache.
class DirectForward : public Kernel {
 public:
  explicit DirectForward(const DirectSizes& sizes)
      : s_(sizes), packing_(sizes, kPixelFeatures), places_(window_places(sizes)) {
    const int64_t lines = std::max<int64_t>(kPaddedElements / s_.line(), s_.kernel_height);
    rows_ = std::min((lines - s_.kernel_height) / s_.row_stride + 1, s_.rows);
  }

  void run(std::span<void* const> buffers, RunContext& context) const override {
    auto packed = packed_kernel_.take(packing_.elements());
    packing_.pack(static_cast<const float*>(buffers[1]), packed->data<float>().data(), context);
    const Arrays arrays{static_cast<const float*>(buffers[0]), packed->data<float>().data(),
                        static_cast<float*>(buffers[2])};
    run_in_parallel(context, s_.batch * blocks(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) run_block(arrays, i / blocks(), i % blocks() * rows_);
    });
    packed_kernel_.give_back(std::move(packed));
  }

  // As all convolutions do: two kinds of threads would wait for each other's CPUs.
  bool uses_openmp() const override { return true; }

 private:
  struct Arrays {
    const float* images;
    const float* kernel;  // packed
    float* output;
  };

  int64_t panels() const { return s_.out_features / kPixelFeatures; }
  int64_t blocks() const { return (s_.rows + rows_ - 1) / rows_; }
  int64_t panel_size() const { return s_.kernel_height * s_.depth() * kPixelFeatures; }

  // The rows of one image from `first` on.
  void run_block(const Arrays& arrays, int64_t image, int64_t first) const {
    const int64_t count = std::min(rows_, s_.rows - first);
    float* const padded = line_memory(s_.lines(rows_) * s_.line());
    pad_lines(s_, arrays.images + image * s_.height * s_.width * s_.features, first * s_.row_stride,
              s_.lines(count), padded);
    float* const output = arrays.output + (image * s_.rows + first) * s_.columns * s_.out_features;
    for (int64_t panel = 0; panel < panels(); ++panel) {
      for (int64_t row = 0; row < count; ++row)
        run_row(padded + row * s_.row_stride * s_.line(), first + row,
                arrays.kernel + panel * panel_size(),
                output + row * s_.columns * s_.out_features + panel * kPixelFeatures);
    }
  }

  // Lines of padding above and below the image add nothing.
  void run_row(const float* lines, int64_t row, const float* kernel, float* output) const {
    const int64_t top = row * s_.row_stride - s_.low_rows;
    const int64_t begin = std::clamp<int64_t>(-top, 0, s_.kernel_height);
    const int64_t end = std::clamp<int64_t>(s_.height - top, begin, s_.kernel_height);
    const int64_t step = s_.column_stride * s_.features;
    const auto places =
        std::span(places_).subspan(u(begin * s_.depth()), u((end - begin) * s_.depth()));
    for (int64_t column = 0; column < s_.columns; column += kPixels) {
      // The last panel computes some columns again.
      const int64_t at = std::min(column, s_.columns - kPixels);
      compute_pixels({.image = lines + at * step,
                      .step = step,
                      .places = places,
                      .kernel = kernel + begin * s_.depth() * kPixelFeatures,
                      .output = output + at * s_.out_features,
                      .output_step = s_.out_features});
    }
  }

  DirectSizes s_;
  KernelPacking packing_;
  std::vector<int64_t> places_;
  int64_t rows_ = 1;  // of the output, in a task
  mutable IdleMemory packed_kernel_;
};

}  // namespace

bool fits_direct_forward(const DirectSizes& s) {
  if (s.out_features % kPixelFeatures != 0 || s.columns < kPixels) return false;
  const int64_t computed = (s.columns + kPixels - 1) / kPixels * kPixels;
  return static_cast<double>(computed) <= kMaxPixels * static_cast<double>(s.columns);
}

std::unique_ptr<Kernel> make_direct_forward_kernel(const DirectSizes& sizes) {
  return std::make_unique<DirectForward>(sizes);
}

}  // namespace systole::cpu
