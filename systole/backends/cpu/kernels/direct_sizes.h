// What the kernels of direct_convolution.h share: convolutions of channels-last images of f32.
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
  // The kernel's first element and the steps to the next row, column, feature and output feature.
  int64_t kernel_first, kernel_row, kernel_column, kernel_in, kernel_out;

  // A line of an image with its padding, as far as it is read.
  int64_t line() const { return ((columns - 1) * column_stride + kernel_width) * features; }
  // What a row of the kernel reads of a line for one column of the output lies together.
  int64_t depth() const { return kernel_width * features; }
  // The lines that `count` rows of the output read.
  int64_t lines(int64_t count) const { return (count - 1) * row_stride + kernel_height; }
};

// The forward convolution and the gradient by the kernel as they are; the gradient by images, where
// it has no strides, as a forward convolution with a mirrored kernel. nullopt for other types and
// layouts, groups, dilations, and numbers of spatial axes other than two.
std::optional<DirectSizes> direct_sizes(const ConvolutionProblem& problem);

// Lines [first, first + count) of a padded image, behind one another.
void pad_lines(const DirectSizes& sizes, const float* image, int64_t first, int64_t count,
               float* to);

// Where the places of the window (rows, columns and features) lie in padded lines.
std::vector<int64_t> window_places(const DirectSizes& sizes);

// Memory of the calling thread for at least so many elements: kept for its next call.
float* line_memory(int64_t elements);

// The sums of the kernels lie in registers of this many elements.
inline constexpr int64_t kDirectLanes = 16;
// The host has such registers.
bool host_has_direct_kernels();

}  // namespace systole::cpu
