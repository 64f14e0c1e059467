#include "systole/backends/cpu/kernels/winograd.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "systole/backends/cpu/kernels/convolution_parts.h"
#include "systole/backends/cpu/kernels/kept_copies.h"
#include "systole/backends/cpu/kernels/onednn_version.h"
#include "systole/backends/cpu/kernels/panel_product.h"
#include "systole/backends/cpu/kernels/parallel.h"
#include "systole/backends/cpu/kernels/sizes.h"
#include "systole/backends/cpu/kernels/thread_memory.h"

namespace systole::cpu {
namespace {

constexpr int64_t kWindow = 3;
constexpr int64_t kSide = 2;                     // of a square of results
constexpr int64_t kPatch = kWindow + kSide - 1;  // side of the inputs that the square reads
constexpr int64_t kPoints = kPatch * kPatch;     // products for a square
constexpr int64_t kWinogradLanes = 16;

// A convolution of 3 by 3 windows. Sizes and strides are in elements; images are dense, of
// [batch, height, width, channels].
struct WinogradSizes {
  int64_t batch, height, width, in;
  int64_t rows, columns, out;     // of the result
  int64_t low_rows, low_columns;  // padding
  // The kernel's first element, and its strides.
  int64_t kernel_begin, kernel_row, kernel_column, kernel_in, kernel_out;

  int64_t tile_rows() const { return (rows + kSide - 1) / kSide; }
  int64_t tile_columns() const { return (columns + kSide - 1) / kSide; }
  int64_t tiles() const { return batch * tile_rows() * tile_columns(); }
  int64_t panels() const { return out / kPanelColumns; }
  int64_t kernel_elements() const { return kPoints * in * out; }  // transformed
};

// nullopt for what the method is not for. An input's gradient is the convolution of the output's
// with the kernel reversed.
std::optional<WinogradSizes> winograd_sizes(const ConvolutionProblem& p) {
  if (p.form == ConvolutionProblem::Form::kernel_gradient || p.highest || !is_plain_convolution(p))
    return std::nullopt;
  const bool forward = p.form == ConvolutionProblem::Form::forward;
  const auto image = sizes_of(forward ? p.image : p.output);
  const auto result = sizes_of(forward ? p.output : p.image);
  const auto kernel = sizes_of(p.kernel);
  const auto steps = strides_of(p.kernel);
  const auto is_one = [](int64_t stride) { return stride == 1; };
  if (kernel[2] != kWindow || kernel[3] != kWindow || !std::ranges::all_of(p.strides, is_one))
    return std::nullopt;
  const int64_t last = kWindow - 1;
  return WinogradSizes{.batch = image[0],
                       .height = image[2],
                       .width = image[3],
                       .in = image[1],
                       .rows = result[2],
                       .columns = result[3],
                       .out = result[1],
                       .low_rows = forward ? p.low[0] : last - p.low[0],
                       .low_columns = forward ? p.low[1] : last - p.low[1],
                       .kernel_begin = forward ? 0 : last * (steps[2] + steps[3]),
                       .kernel_row = forward ? steps[2] : -steps[2],
                       .kernel_column = forward ? steps[3] : -steps[3],
                       .kernel_in = steps[forward ? 1 : 0],
                       .kernel_out = steps[forward ? 0 : 1]};
}

// Whether it takes less time than plain sums, by rough counts of operations for each transformed
// element. A transformed kernel is larger than the kernel, which few tiles do not make up for.
bool winograd_pays(const ConvolutionProblem& p, const WinogradSizes& s, bool keeps_kernel) {
  constexpr int64_t kMinFeatures = 32;
  constexpr int64_t kMinTiles = 12;
  constexpr double kImageOperations = 80;
  constexpr double kResultOperations = 60;
  const double kernel_operations = keeps_kernel ? 0 : s.kernel_out == 1 ? 120 : 320;
  constexpr double kGain = 0.85;
  if (s.in % kWinogradLanes != 0 || s.in < kMinFeatures || s.out % kPanelColumns != 0 ||
      s.tiles() < kMinTiles)
    return false;
  const auto tiles = static_cast<double>(s.tiles());
  const auto in = static_cast<double>(s.in);
  const auto out = static_cast<double>(s.out);
  const double operations =
      tiles * (2 * kPoints * in * out + kImageOperations * in + kResultOperations * out) +
      kernel_operations * in * out;
  return operations < kGain * operations_of(p);
}

// Pixels of a patch of the image or of a square of the result, row by row.
using PatchPixels = std::array<const float*, kPoints>;
using SquarePixels = std::array<float*, kSide * kSide>;  // null: outside of the result

#if defined(__x86_64__)

#define SYSTOLE_AVX512 __attribute__((target("avx512f")))

// Multiplies four pixels along one axis by B', in place: half of B' d B, the transform of an input
// tile d.
SYSTOLE_AVX512 inline void transform_pixels(__m512& a, __m512& b, __m512& c, __m512& d) {
  const __m512 first = _mm512_sub_ps(a, c);
  const __m512 second = _mm512_add_ps(b, c);
  const __m512 third = _mm512_sub_ps(c, b);
  d = _mm512_sub_ps(b, d);
  a = first;
  b = second;
  c = third;
}

// Writes G g along one axis: the transform of three weights g, four points `step` vectors apart.
SYSTOLE_AVX512 inline void transform_weights(__m512 a, __m512 b, __m512 c, __m512* to,
                                             int64_t step) {
  const __m512 half = _mm512_set1_ps(0.5F);
  const __m512 ends = _mm512_mul_ps(half, _mm512_add_ps(a, c));
  const __m512 middle = _mm512_mul_ps(half, b);
  to[0] = a;
  to[step] = _mm512_add_ps(ends, middle);
  to[2 * step] = _mm512_sub_ps(ends, middle);
  to[3 * step] = c;
}

// Writes point i of the patch to to[i * step], for all features.
SYSTOLE_AVX512 void transform_patch(const PatchPixels& pixels, int64_t features, float* to,
                                    int64_t step) {
  for (int64_t at = 0; at < features; at += kWinogradLanes) {
    __m512 d[kPatch][kPatch];
#pragma GCC unroll 4
    for (int i = 0; i < kPatch; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < kPatch; ++j) d[i][j] = _mm512_loadu_ps(pixels[i * kPatch + j] + at);
    }
#pragma GCC unroll 4
    for (int i = 0; i < kPatch; ++i) transform_pixels(d[i][0], d[i][1], d[i][2], d[i][3]);
#pragma GCC unroll 4
    for (int j = 0; j < kPatch; ++j) transform_pixels(d[0][j], d[1][j], d[2][j], d[3][j]);
#pragma GCC unroll 4
    for (int i = 0; i < kPatch; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < kPatch; ++j) _mm512_storeu_ps(to + (i * kPatch + j) * step + at, d[i][j]);
    }
  }
}

// Reads the points of kPanelColumns features from from[i * step].
SYSTOLE_AVX512 void transform_square(const float* from, int64_t step, const SquarePixels& pixels,
                                     int64_t feature) {
  for (int64_t at = 0; at < kPanelColumns; at += kWinogradLanes) {
    __m512 rows[kPatch][kSide];
#pragma GCC unroll 4
    for (int i = 0; i < kPatch; ++i) {
      const float* const points = from + i * kPatch * step + at;
      const __m512 second = _mm512_loadu_ps(points + step);
      const __m512 third = _mm512_loadu_ps(points + 2 * step);
      rows[i][0] = _mm512_add_ps(_mm512_add_ps(_mm512_loadu_ps(points), second), third);
      rows[i][1] = _mm512_sub_ps(_mm512_sub_ps(second, third), _mm512_loadu_ps(points + 3 * step));
    }
#pragma GCC unroll 2
    for (int j = 0; j < kSide; ++j) {
      const __m512 y0 = _mm512_add_ps(_mm512_add_ps(rows[0][j], rows[1][j]), rows[2][j]);
      const __m512 y1 = _mm512_sub_ps(_mm512_sub_ps(rows[1][j], rows[2][j]), rows[3][j]);
      if (pixels[j] != nullptr) _mm512_storeu_ps(pixels[j] + feature + at, y0);
      if (pixels[kSide + j] != nullptr) _mm512_storeu_ps(pixels[kSide + j] + feature + at, y1);
    }
  }
}

SYSTOLE_AVX512 inline __m512 load_weights(const float* from, int64_t step) {
  if (step == 1) return _mm512_loadu_ps(from);
  alignas(64) float elements[kWinogradLanes];
#pragma GCC unroll 16
  for (int i = 0; i < kWinogradLanes; ++i) elements[i] = from[i * step];
  return _mm512_load_ps(elements);
}

// Writes point i of the kernel of one input feature and kPanelColumns output features to
// to[i * step].
SYSTOLE_AVX512 void transform_kernel(const WinogradSizes& s, const float* from, float* to,
                                     int64_t step) {
  for (int64_t at = 0; at < kPanelColumns; at += kWinogradLanes) {
    __m512 columns[kPatch][kWindow];
#pragma GCC unroll 3
    for (int j = 0; j < kWindow; ++j) {
      const float* const weights = from + j * s.kernel_column + at * s.kernel_out;
      transform_weights(
          load_weights(weights, s.kernel_out), load_weights(weights + s.kernel_row, s.kernel_out),
          load_weights(weights + 2 * s.kernel_row, s.kernel_out), &columns[0][j], kWindow);
    }
#pragma GCC unroll 4
    for (int i = 0; i < kPatch; ++i) {
      __m512 points[kPatch];
      transform_weights(columns[i][0], columns[i][1], columns[i][2], points, 1);
#pragma GCC unroll 4
      for (int j = 0; j < kPatch; ++j)
        _mm512_storeu_ps(to + (i * kPatch + j) * step + at, points[j]);
    }
  }
}

#undef SYSTOLE_AVX512

#else

void transform_patch(const PatchPixels&, int64_t, float*, int64_t) {}
void transform_square(const float*, int64_t, const SquarePixels&, int64_t) {}
void transform_kernel(const WinogradSizes&, const float*, float*, int64_t) {}

#endif

// Each task transforms some patches, multiplies the matrix of a point [patches, features] by that
// of the kernel [features, output features] for all points of a panel, and transforms their
// products. The transformed kernel is [panels, points, features, columns of the panel].
class WinogradConvolution : public Kernel {
 public:
  WinogradConvolution(const WinogradSizes& sizes, bool keeps_kernel, int num_threads,
                      Epilogue epilogue)
      : s_(sizes),
        epilogue_(std::move(epilogue)),
        keeps_kernel_(keeps_kernel),
        zeros_(u(sizes.in)) {
    // Patches of a task, which stay in the second-level cache as far as possible, while a kernel's
    // element is used often enough.
    const int64_t most = std::clamp<int64_t>(kPatchElements / s_.in, kMinPatches, kMaxPatches);
    int64_t tasks = std::max((s_.tiles() + most - 1) / most,
                             std::min<int64_t>(num_threads, s_.tiles() / kPanelRows));
    const int64_t together =
        tasks < kFewTasks * num_threads ? num_threads : kFewTasks * num_threads;
    tasks = (tasks + together - 1) / together * together;
    task_tiles_ = (s_.tiles() + tasks - 1) / tasks;
  }

  bool asks_for_versions() const override { return keeps_kernel_; }

  void run(std::span<void* const> buffers, RunContext& context) const override {
    const auto* const kernel = static_cast<const float*>(buffers[1]);
    const uint64_t version = keeps_kernel_ ? context.version_of(kernel) : 0;
    PreparedOperand::Memory points = kernel_.take(
        kernel, version, s_.kernel_elements(), [&](float* to) { transform(kernel, to, context); });
    convolve({static_cast<const float*>(buffers[0]), points.elements(),
              static_cast<float*>(buffers.back()), BoundEpilogue(epilogue_, buffers)},
             context);
    kernel_.give_back(std::move(points));
  }

 private:
  static constexpr int64_t kPatchElements = 8192;
  static constexpr int64_t kMinPatches = 2 * kPanelRows;
  static constexpr int64_t kMaxPatches = 8 * kPanelRows;
  static constexpr int64_t kFewTasks = 4;
  static constexpr int64_t kPatchesAhead = 4;
  static constexpr int64_t kPlanePadding = 16;  // points of a patch then lie in different sets

  struct Arrays {
    const float* image;
    const float* kernel;  // transformed
    float* result;
    BoundEpilogue epilogue;
  };
  // A square of results.
  struct Tile {
    int64_t image, row, column;
  };

  void transform(const float* kernel, float* points, RunContext& context) const {
    constexpr int64_t kGrain = 64;
    const auto body = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t panel = i / s_.in;
        const int64_t feature = i % s_.in;
        transform_kernel(s_,
                         kernel + s_.kernel_begin + feature * s_.kernel_in +
                             panel * kPanelColumns * s_.kernel_out,
                         points + (panel * kPoints * s_.in + feature) * kPanelColumns,
                         s_.in * kPanelColumns);
      }
    };
    run_in_parallel(context, s_.panels() * s_.in, kGrain, body);
  }

  void convolve(const Arrays& arrays, RunContext& context) const {
    const int64_t tasks = (s_.tiles() + task_tiles_ - 1) / task_tiles_;
    run_in_parallel(context, tasks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) {
        const int64_t first = task * task_tiles_;
        run_tiles(arrays, first, std::min(task_tiles_, s_.tiles() - first));
      }
    });
  }

  void run_tiles(const Arrays& arrays, int64_t first, int64_t count) const {
    const int64_t plane = count * s_.in + kPlanePadding;
    const int64_t product_plane = count * kPanelColumns;
    float* const patches = thread_memory(kPoints * (plane + product_plane));
    float* const products = patches + kPoints * plane;
    std::array<SquarePixels, kMaxPatches> squares;
    std::array<PatchPixels, kMaxPatches> pixels;
    for (int64_t i = 0; i < count; ++i) squares[u(i)] = square_of(arrays, first + i);
    for (int64_t i = 0; i < count + kPatchesAhead; ++i) {
      if (i < count) {
        pixels[u(i)] = patch_of(arrays, first + i);
        prefetch_patch(pixels[u(i)]);
      }
      if (const int64_t now = i - kPatchesAhead; now >= 0)
        transform_patch(pixels[u(now)], s_.in, patches + now * s_.in, plane);
    }
    for (int64_t panel = 0; panel < s_.panels(); ++panel) {
      for (int64_t point = 0; point < kPoints; ++point) {
        multiply_panel({.rows = patches + point * plane,
                        .row_step = s_.in,
                        .depth = s_.in,
                        .panel = arrays.kernel + (panel * kPoints + point) * s_.in * kPanelColumns,
                        .result = products + point * product_plane,
                        .result_step = kPanelColumns},
                       count);
      }
      for (int64_t i = 0; i < count; ++i)
        transform_square(products + i * kPanelColumns, product_plane, squares[u(i)],
                         panel * kPanelColumns);
      if (!arrays.epilogue.empty()) apply_epilogue(arrays, first, count, panel * kPanelColumns);
    }
  }

  // The squares of a row of squares are two lines of pixels.
  void apply_epilogue(const Arrays& arrays, int64_t first, int64_t count, int64_t feature) const {
    for (int64_t done = 0; done < count;) {
      const Tile t = tile(first + done);
      const int64_t squares = std::min(count - done, s_.tile_columns() - t.column / kSide);
      for (int64_t row = t.row; row < std::min(t.row + kSide, s_.rows); ++row) {
        const int64_t offset =
            ((t.image * s_.rows + row) * s_.columns + t.column) * s_.out + feature;
        arrays.epilogue.apply({.elements = arrays.result + offset,
                               .rows = std::min(squares * kSide, s_.columns - t.column),
                               .columns = kPanelColumns,
                               .row_step = s_.out,
                               .column = feature,
                               .offset = offset});
      }
      done += squares;
    }
  }

  Tile tile(int64_t number) const {
    const int64_t in_image = number % (s_.tile_rows() * s_.tile_columns());
    return {.image = number / (s_.tile_rows() * s_.tile_columns()),
            .row = in_image / s_.tile_columns() * kSide,
            .column = in_image % s_.tile_columns() * kSide};
  }

  // Begins to fetch the pixels that a patch does not share with the one before it.
  void prefetch_patch(const PatchPixels& pixels) const {
    for (int64_t i = 0; i < kPoints; ++i) {
      if (i % kPatch < kPatch - kSide) continue;
      for (int64_t at = 0; at < s_.in; at += kWinogradLanes) __builtin_prefetch(pixels[u(i)] + at);
    }
  }

  // Padding is read from an array of zeros.
  PatchPixels patch_of(const Arrays& arrays, int64_t number) const {
    const Tile t = tile(number);
    PatchPixels pixels;
    for (int64_t i = 0; i < kPoints; ++i) {
      const int64_t row = t.row - s_.low_rows + i / kPatch;
      const int64_t column = t.column - s_.low_columns + i % kPatch;
      const bool inside = row >= 0 && row < s_.height && column >= 0 && column < s_.width;
      pixels[u(i)] = inside
                         ? arrays.image + ((t.image * s_.height + row) * s_.width + column) * s_.in
                         : zeros_.data();
    }
    return pixels;
  }

  SquarePixels square_of(const Arrays& arrays, int64_t number) const {
    const Tile t = tile(number);
    SquarePixels pixels;
    for (int64_t i = 0; i < kSide * kSide; ++i) {
      const int64_t row = t.row + i / kSide;
      const int64_t column = t.column + i % kSide;
      const bool inside = row < s_.rows && column < s_.columns;
      pixels[u(i)] =
          inside ? arrays.result + ((t.image * s_.rows + row) * s_.columns + column) * s_.out
                 : nullptr;
    }
    return pixels;
  }

  WinogradSizes s_;
  Epilogue epilogue_;
  bool keeps_kernel_;
  std::vector<float> zeros_;
  int64_t task_tiles_;
  PreparedOperand kernel_;
};

}  // namespace

std::unique_ptr<Kernel> make_winograd_kernel(const ConvolutionProblem& problem, bool keeps_kernel,
                                             int num_threads, Epilogue epilogue) {
  const std::optional<WinogradSizes> sizes = winograd_sizes(problem);
  if (!host_has_avx512() || !sizes || !winograd_pays(problem, *sizes, keeps_kernel)) return nullptr;
  return std::make_unique<WinogradConvolution>(*sizes, keeps_kernel, num_threads,
                                               std::move(epilogue));
}

}  // namespace systole::cpu
