#include "systole/backends/cpu/kernels/window_dot.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "systole/backends/cpu/kernels/onednn.h"
#include "systole/backends/cpu/kernels/panel_dot.h"
#include "systole/backends/cpu/kernels/panel_packing.h"
#include "systole/backends/cpu/kernels/panel_product.h"
#include "systole/backends/cpu/kernels/sizes.h"

namespace systole::cpu {
namespace {

// The windows of dense images of [batch, height, width, features], one for each of `rows` by
// `columns` places.
struct ImageWindows {
  int64_t height, width, features;
  int64_t rows, columns;
  int64_t window_rows, window_columns;
  int64_t row_stride, column_stride;
  int64_t low_rows, low_columns;  // padding

  int64_t taps() const { return window_rows * window_columns; }

  // Writes window `number`, row by row of its pixels.
  void copy_window(const float* images, int64_t number, float* to) const {
    const float* const image = images + number / (rows * columns) * height * width * features;
    const int64_t top = number / columns % rows * row_stride - low_rows;
    const int64_t left = number % columns * column_stride - low_columns;
    // Columns of the window that lie on the image.
    const int64_t begin = std::clamp<int64_t>(-left, 0, window_columns);
    const int64_t end = std::clamp<int64_t>(width - left, begin, window_columns);
    const int64_t line = window_columns * features;
    for (int64_t row = top; row < top + window_rows; ++row, to += line) {
      if (row < 0 || row >= height || begin == end) {
        std::fill_n(to, line, 0.0F);
        continue;
      }
      std::fill_n(to, begin * features, 0.0F);
      std::copy_n(image + (row * width + left + begin) * features, (end - begin) * features,
                  to + begin * features);
      std::fill_n(to + end * features, (window_columns - end) * features, 0.0F);
    }
  }

  // Returns the element with which a pixel of a window begins, or -1 for padding.
  int64_t place_of(int64_t number, int64_t tap) const {
    const int64_t row = number / columns % rows * row_stride - low_rows + tap / window_columns;
    const int64_t column = number % columns * column_stride - low_columns + tap % window_columns;
    if (row < 0 || row >= height || column < 0 || column >= width) return -1;
    return ((number / (rows * columns) * height + row) * width + column) * features;
  }
};

ImageWindows windows_of(const ConvolutionProblem& p) {
  const dnnl::memory::dims image = sizes_of(p.image);
  const dnnl::memory::dims places = sizes_of(p.output);
  const dnnl::memory::dims kernel = sizes_of(p.kernel);
  return {.height = image[2],
          .width = image[3],
          .features = image[1],
          .rows = places[2],
          .columns = places[3],
          .window_rows = kernel[2],
          .window_columns = kernel[3],
          .row_stride = p.strides[0],
          .column_stride = p.strides[1],
          .low_rows = p.low[0],
          .low_columns = p.low[1]};
}

// Windows of one pixel that are the image as it lies. (Without strides, an output as large as the
// image has no padding.)
bool are_in_place(const ImageWindows& w) {
  return w.taps() == 1 && w.row_stride == 1 && w.column_stride == 1 && w.rows == w.height &&
         w.columns == w.width;
}

// The product of a forward convolution.
PanelDot dot_of_windows(const ConvolutionProblem& p, const ImageWindows& windows) {
  const dnnl::memory::dims steps = strides_of(p.kernel);
  const dnnl::memory::dims output = sizes_of(p.output);
  PanelDot dot{.rows = output[0] * output[2] * output[3],
               .depth = windows.taps() * windows.features,
               .columns = output[1],
               .row_step = windows.features,
               .rhs_row = steps[1],
               .rhs_column = steps[0],
               .result_row = output[1]};
  if (!are_in_place(windows)) {
    dot.copy_rows = [windows](const void* images, int64_t first, int64_t count, float* to,
                              int64_t to_step) {
      for (int64_t i = 0; i < count; ++i, to += to_step)
        windows.copy_window(static_cast<const float*>(images), first + i, to);
    };
  }
  return dot;
}

// The product of the gradient of the image by windows that are its pixels, one by one.
PanelDot dot_of_input_gradient(const ConvolutionProblem& p) {
  const dnnl::memory::dims steps = strides_of(p.kernel);
  const dnnl::memory::dims output = sizes_of(p.output);
  const int64_t features = sizes_of(p.image)[1];
  return {.rows = output[0] * output[2] * output[3],
          .depth = output[1],
          .columns = features,
          .row_step = output[1],
          .rhs_row = steps[0],
          .rhs_column = steps[1],
          .result_row = features};
}

// The matrix of [taps, features] by the places of all windows, of one type of element.
template <class Element>
class TransposedWindows {
 public:
  TransposedWindows(const ImageWindows& windows, int64_t count)
      : features_(windows.features), count_(count), zeros_(u(windows.features)) {
    for (int64_t tap = 0; tap < windows.taps(); ++tap) {
      for (int64_t i = 0; i < count; ++i) places_.push_back(windows.place_of(i, tap));
    }
  }

  // Writes rows [first, first + count). REQUIRES: both are multiples of kTransposedColumns.
  void copy_rows(const void* images, int64_t first, int64_t count, float* to,
                 int64_t to_step) const {
    for (int64_t row = first; row < first + count;) {
      const int64_t feature = row % features_;
      const int64_t features = std::min(features_ - feature, first + count - row);
      const ScatteredRows<Element> pixels{
          .array = static_cast<const Element*>(images) + feature,
          .places = std::span(places_).subspan(u(row / features_ * count_), u(count_)),
          .zeros = zeros_.data()};
      if constexpr (sizeof(Element) == sizeof(float)) {
        transpose_rows(pixels, features, to, to_step);
      } else {
        transpose_row_pairs(pixels, features, to, to_step);
      }
      row += features;
      to += features * to_step;
    }
  }

 private:
  int64_t features_, count_;
  std::vector<Element> zeros_;
  std::vector<int64_t> places_;  // of [taps, windows]
};

bool is_bf16(const dnnl::memory::desc& desc) {
  return type_of(desc) == dnnl::memory::data_type::bf16;
}

template <class Element>
auto transposed_copies(const ImageWindows& windows, int64_t count) {
  return [transposed = std::make_shared<const TransposedWindows<Element>>(windows, count)](
             const void* images, int64_t first, int64_t rows, float* to, int64_t to_step) {
    transposed->copy_rows(images, first, rows, to, to_step);
  };
}

// The product of the gradient of a kernel: the windows' pixels, transposed, by the output's
// gradient.
PanelDot dot_of_kernel_gradient(const ConvolutionProblem& p, const ImageWindows& windows) {
  const dnnl::memory::dims output = sizes_of(p.output);
  const int64_t count = output[0] * output[2] * output[3];
  PanelDot dot{.rows = windows.taps() * windows.features,
               .depth = count,
               .columns = output[1],
               .row_step = count,
               .rhs_row = output[1],
               .rhs_column = 1,
               .result_row = output[1],
               .row_unit = kTransposedColumns,
               .is_bf16 = is_bf16(p.image),
               .rounds = is_bf16(p.kernel)};
  dot.copy_rows = dot.is_bf16 ? PanelDot::CopyRows(transposed_copies<uint16_t>(windows, count))
                              : PanelDot::CopyRows(transposed_copies<float>(windows, count));
  return dot;
}

// Few pixels of many images, by windows of one pixel: oneDNN's threads would each multiply a few
// rows by the whole kernel, which packing does not cost much more than.
bool has_few_pixels(const ConvolutionProblem& p) {
  constexpr int64_t kMaxPixels = 8 * 8;  // of an image
  constexpr int64_t kMinRows = 128;
  constexpr int64_t kMinFeatures = 256;
  const dnnl::memory::dims output = sizes_of(p.output);
  const dnnl::memory::dims kernel = sizes_of(p.kernel);
  const int64_t pixels = output[2] * output[3];
  return kernel[2] * kernel[3] == 1 && pixels <= kMaxPixels && output[0] * pixels >= kMinRows &&
         std::min(kernel[0], kernel[1]) >= kMinFeatures;
}

// While caches hold the kernel, oneDNN reads images in place, but those with strides more slowly.
// (Winograd's method, winograd.h, comes before.)
bool pays_forward(const ConvolutionProblem& p, bool keeps_kernel) {
  constexpr size_t kLargeKernelBytes = size_t{1} << 20;
  constexpr int64_t kMinFeatures = 32;
  const dnnl::memory::dims kernel = sizes_of(p.kernel);
  const dnnl::memory::dims steps = strides_of(p.kernel);
  if (is_bf16(p.image)) return false;
  if (!keeps_kernel) return has_few_pixels(p);
  if (kernel[2] * kernel[3] == 1) return true;
  const bool dense = steps[3] == kernel[1] * steps[1] && steps[2] == kernel[3] * steps[3];
  const bool strided = !all_ones(p.strides) && kernel[1] >= kMinFeatures;
  return dense && (strided || p.kernel.get_size() >= kLargeKernelBytes);
}

bool pays_of_input_gradient(const ConvolutionProblem& p, const ImageWindows& windows) {
  return !is_bf16(p.image) && are_in_place(windows) && has_few_pixels(p);
}

// oneDNN's threads would share the images of a batch, each with a gradient of the whole kernel.
bool pays_of_kernel_gradient(const ConvolutionProblem& p) {
  constexpr int64_t kMaxPlaces = 2048;  // of a panel that stays in a cache
  constexpr int64_t kMinElements = 128 * 128;
  const dnnl::memory::dims output = sizes_of(p.output);
  const dnnl::memory::dims kernel = sizes_of(p.kernel);
  const dnnl::memory::dims steps = strides_of(p.kernel);
  const auto fits = [&](size_t axis, int64_t step) {
    return kernel[axis] == 1 || steps[axis] == step;
  };
  const bool dense = fits(0, 1) && fits(1, kernel[0]) && fits(3, kernel[0] * kernel[1]) &&
                     fits(2, kernel[0] * kernel[1] * kernel[3]);
  const int64_t places = output[0] * output[2] * output[3];
  if (is_bf16(p.image) && (!host_multiplies_bf16() || places % 2 != 0)) return false;
  return dense && kernel[1] % kTransposedColumns == 0 && kernel[0] >= kPanelColumns &&
         kernel[0] * kernel[1] >= kMinElements && places <= kMaxPlaces;
}

}  // namespace

std::unique_ptr<Kernel> make_window_dot_kernel(const ConvolutionProblem& p, bool keeps_kernel,
                                               int num_threads, Epilogue epilogue) {
  if (!is_plain_convolution(p, type_of(p.image))) return nullptr;
  const ImageWindows windows = windows_of(p);
  if (p.form == ConvolutionProblem::Form::forward && pays_forward(p, keeps_kernel)) {
    return make_panel_dot_kernel(dot_of_windows(p, windows), keeps_kernel, num_threads,
                                 std::move(epilogue));
  }
  if (p.form == ConvolutionProblem::Form::input_gradient && pays_of_input_gradient(p, windows)) {
    return make_panel_dot_kernel(dot_of_input_gradient(p), keeps_kernel, num_threads,
                                 std::move(epilogue));
  }
  if (p.form == ConvolutionProblem::Form::kernel_gradient && pays_of_kernel_gradient(p)) {
    return make_panel_dot_kernel(dot_of_kernel_gradient(p, windows), false, num_threads,
                                 std::move(epilogue));
  }
  return nullptr;
}

}  // namespace systole::cpu
