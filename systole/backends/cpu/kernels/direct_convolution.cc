#include "systole/backends/cpu/kernels/direct_convolution.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "systole/backends/cpu/kernels/onednn_version.h"
#include "systole/backends/cpu/kernels/panel_product.h"
#include "systole/backends/cpu/kernels/parallel.h"
#include "systole/backends/cpu/kernels/scratch_cache.h"
#include "systole/backends/cpu/kernels/sizes.h"
#include "systole/backends/cpu/kernels/thread_memory.h"

namespace systole::cpu {
namespace {

constexpr int64_t kMaxFeatures = 3;  // of the images
constexpr int64_t kMinPixels = 8 * 14 * 14;
constexpr int64_t kMinTasks = 8;      // threads share them
constexpr int64_t kPixels = 14;       // of a panel: columns of the output
constexpr int64_t kDirectLanes = 16;  // of a vector register
constexpr int64_t kPixelVectors = 2;
constexpr int64_t kPixelFeatures = kPixelVectors * kDirectLanes;
constexpr int64_t kPaddedElements = 32 * 1024;  // of a task: they stay in the second-level cache
constexpr double kMaxPixels = 1.2;              // computed for one that is wanted

// Sizes and strides in elements; the images and the output are dense.
struct DirectSizes {
  int64_t batch, height, width, features;
  int64_t rows, columns, out_features;  // of the output
  int64_t kernel_height, kernel_width;
  int64_t row_stride, column_stride;
  int64_t low_rows, low_columns;  // padding
  // The kernel's strides to the next row, column, feature and output feature.
  int64_t kernel_row, kernel_column, kernel_in, kernel_out;

  // Returns the elements of a padded image line that the windows of one output row read.
  int64_t line() const { return ((columns - 1) * column_stride + kernel_width) * features; }
  // Returns the number of consecutive elements of an image line that one kernel row covers.
  int64_t depth() const { return kernel_width * features; }
  // Returns the number of image lines that `count` output rows read.
  int64_t lines(int64_t count) const { return (count - 1) * row_stride + kernel_height; }
};

// Returns nullopt for other forms, types and layouts, groups, dilations, and numbers of spatial
// axes other than two.
std::optional<DirectSizes> direct_sizes(const ConvolutionProblem& p) {
  if (p.form != ConvolutionProblem::Form::forward || !is_plain_convolution(p)) return std::nullopt;
  const auto image = sizes_of(p.image);
  const auto output = sizes_of(p.output);
  const auto kernel = sizes_of(p.kernel);
  const auto kernel_strides = strides_of(p.kernel);
  return DirectSizes{.batch = image[0],
                     .height = image[2],
                     .width = image[3],
                     .features = image[1],
                     .rows = output[2],
                     .columns = output[3],
                     .out_features = output[1],
                     .kernel_height = kernel[2],
                     .kernel_width = kernel[3],
                     .row_stride = p.strides[0],
                     .column_stride = p.strides[1],
                     .low_rows = p.low[0],
                     .low_columns = p.low[1],
                     .kernel_row = kernel_strides[2],
                     .kernel_column = kernel_strides[3],
                     .kernel_in = kernel_strides[1],
                     .kernel_out = kernel_strides[0]};
}

// Copies lines [first, first + count) of the padded image to `to`, contiguously.
void pad_lines(const DirectSizes& s, const float* image, int64_t first, int64_t count, float* to) {
  const int64_t line = s.line();
  const int64_t low = std::min(s.low_columns * s.features, line);
  const int64_t copied = std::min(s.width * s.features, line - low);
  for (int64_t i = 0; i < count; ++i, to += line) {
    const int64_t row = first + i - s.low_rows;
    if (row < 0 || row >= s.height) {
      std::fill_n(to, line, 0.0F);
      continue;
    }
    std::fill_n(to, low, 0.0F);
    std::copy_n(image + row * s.width * s.features, copied, to + low);
    std::fill_n(to + low + copied, line - low - copied, 0.0F);
  }
}

// Returns the offsets of a window's elements in the padded lines, from its first element. They are
// in the order rows, columns, features.
std::vector<int64_t> window_places(const DirectSizes& s) {
  std::vector<int64_t> places;
  for (int64_t row = 0; row < s.kernel_height; ++row) {
    for (int64_t i = 0; i < s.depth(); ++i) places.push_back(row * s.line() + i);
  }
  return places;
}

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

// Computes the output in panels of 14 columns by 32 features, and keeps a panel's sums in
// registers. Each task first copies the image lines that it reads, with padding, to a buffer that
// fits in the second-level cache.
class DirectConvolution : public Kernel {
 public:
  DirectConvolution(const DirectSizes& sizes, Epilogue epilogue)
      : s_(sizes), epilogue_(std::move(epilogue)), places_(window_places(sizes)) {
    const int64_t lines = std::max<int64_t>(kPaddedElements / s_.line(), s_.kernel_height);
    const int64_t most = std::max<int64_t>(s_.batch * s_.rows / kMinTasks, 1);
    rows_ = std::min({(lines - s_.kernel_height) / s_.row_stride + 1, s_.rows, most});
  }

  void run(std::span<void* const> buffers, RunContext& context) const override {
    auto packed = packed_kernel_.take(panels() * panel_size());
    pack(static_cast<const float*>(buffers[1]), packed->data<float>().data());
    const Arrays arrays{static_cast<const float*>(buffers[0]), packed->data<float>().data(),
                        static_cast<float*>(buffers.back()), BoundEpilogue(epilogue_, buffers)};
    run_in_parallel(context, s_.batch * blocks(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) run_block(arrays, i / blocks(), i % blocks() * rows_);
    });
    packed_kernel_.give_back(std::move(packed));
  }

 private:
  struct Arrays {
    const float* images;
    const float* kernel;  // packed
    float* output;
    BoundEpilogue epilogue;
  };

  int64_t panels() const { return s_.out_features / kPixelFeatures; }
  int64_t blocks() const { return (s_.rows + rows_ - 1) / rows_; }
  int64_t panel_size() const { return s_.kernel_height * s_.depth() * kPixelFeatures; }

  // Copies the kernel to the layout [panel][row][column][feature][output feature of the panel].
  void pack(const float* kernel, float* packed) const {
    for (int64_t first = 0; first < s_.out_features; first += kPixelFeatures) {
      for (int64_t i = 0; i < s_.kernel_height * s_.depth(); ++i, packed += kPixelFeatures) {
        const int64_t place = i / s_.features;
        const float* const from = kernel + place / s_.kernel_width * s_.kernel_row +
                                  place % s_.kernel_width * s_.kernel_column +
                                  i % s_.features * s_.kernel_in + first * s_.kernel_out;
        for (int64_t o = 0; o < kPixelFeatures; ++o) packed[o] = from[o * s_.kernel_out];
      }
    }
  }

  // Computes up to rows_ output rows of one image, from `first` on.
  void run_block(const Arrays& arrays, int64_t image, int64_t first) const {
    const int64_t count = std::min(rows_, s_.rows - first);
    float* const padded = thread_memory(s_.lines(rows_) * s_.line());
    pad_lines(s_, arrays.images + image * s_.height * s_.width * s_.features, first * s_.row_stride,
              s_.lines(count), padded);
    const int64_t line = s_.columns * s_.out_features;
    const int64_t begin = (image * s_.rows + first) * line;
    for (int64_t panel = 0; panel < panels(); ++panel) {
      for (int64_t row = 0; row < count; ++row) {
        const int64_t feature = panel * kPixelFeatures;
        const BoundEpilogue::Block block{.elements = arrays.output + begin + row * line + feature,
                                         .rows = s_.columns,
                                         .columns = kPixelFeatures,
                                         .row_step = s_.out_features,
                                         .column = feature,
                                         .offset = begin + row * line + feature};
        run_row(padded + row * s_.row_stride * s_.line(), first + row,
                arrays.kernel + panel * panel_size(), block.elements);
        if (!arrays.epilogue.empty()) arrays.epilogue.apply(block);
      }
    }
  }

  // Computes one output row. Skips kernel rows that lie in the zero padding above or below the
  // image.
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
  Epilogue epilogue_;
  std::vector<int64_t> places_;
  int64_t rows_ = 1;  // of the output, in a task
  mutable ScratchCache packed_kernel_;
};

// Returns whether the kernel is fast: the output features fill whole panels and few columns are
// computed twice. oneDNN is as fast for small windows of three features.
bool fits_panels(const DirectSizes& s) {
  constexpr int64_t kMinDepth = 100;  // of windows of three features
  if (s.features > 2 && s.kernel_height * s.depth() < kMinDepth) return false;
  if (s.out_features % kPixelFeatures != 0 || s.columns < kPixels) return false;
  const int64_t computed = (s.columns + kPixels - 1) / kPixels * kPixels;
  return static_cast<double>(computed) <= kMaxPixels * static_cast<double>(s.columns);
}

}  // namespace

std::unique_ptr<Kernel> make_direct_convolution_kernel(const ConvolutionProblem& problem,
                                                       Epilogue epilogue) {
  const std::optional<DirectSizes> sizes = direct_sizes(problem);
  if (!host_has_avx512() || !sizes || sizes->features > kMaxFeatures ||
      sizes->batch * sizes->rows * sizes->columns < kMinPixels || !fits_panels(*sizes)) {
    return nullptr;
  }
  return std::make_unique<DirectConvolution>(*sizes, std::move(epilogue));
}

}  // namespace systole::cpu
