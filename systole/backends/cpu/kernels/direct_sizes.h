// Sizes and helpers of the kernels of direct_convolution.h: convolutions of channels-last f32
// images.
#pragma once

#include <optional>
#include <vector>

#include "systole/backends/cpu/kernels/convolution_problem.h"

namespace systole::cpu {

// Sizes and strides in elements; the images and the output are dense.
struct DirectSizes {
  int64_t batch, height, width, features;
  int64_t rows, columns, out_features;  // of the output
  int64_t kernel_height, kernel_width;
  int64_t row_stride, column_stride;
  int64_t low_rows, low_columns;  // padding
  // Offset of the kernel's first element, and the strides to the next row, column, feature and
  // output feature.
  int64_t kernel_first, kernel_row, kernel_column, kernel_in, kernel_out;

  // Elements of a padded image line that are read.
  int64_t line() const { return ((columns - 1) * column_stride + kernel_width) * features; }
  // Contiguous elements of a line that one kernel row reads for one output column.
  int64_t depth() const { return kernel_width * features; }
  // Returns the number of image lines that `count` output rows read.
  int64_t lines(int64_t count) const { return (count - 1) * row_stride + kernel_height; }
};

// Returns the sizes of a forward convolution or of a kernel gradient. An input gradient with stride
// 1 becomes a forward convolution with a mirrored kernel. Returns nullopt for other types and
// layouts, groups, dilations, and numbers of spatial axes other than two.
std::optional<DirectSizes> direct_sizes(const ConvolutionProblem& problem);

// Copies lines [first, first + count) of the padded image to `to`, contiguously.
void pad_lines(const DirectSizes& sizes, const float* image, int64_t first, int64_t count,
               float* to);

// Returns the offset in the padded lines of every element of the window (rows, columns, features).
std::vector<int64_t> window_places(const DirectSizes& sizes);

// Returns memory of the calling thread for at least this many elements. The thread's next call
// reuses it.
float* line_memory(int64_t elements);

// Elements of one vector register that holds sums.
inline constexpr int64_t kDirectLanes = 16;
// Returns whether the host has such registers.
bool host_has_direct_kernels();

}  // namespace systole::cpu
