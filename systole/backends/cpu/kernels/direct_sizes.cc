#include "systole/backends/cpu/kernels/direct_sizes.h"

#include <algorithm>
#include <vector>

#include "systole/base/tensor.h"

namespace systole::cpu {
namespace {

using DirectDesc = dnnl::memory::desc;
using DirectForm = ConvolutionProblem::Form;

std::vector<int64_t> strides_of(const DirectDesc& desc) {
  const auto& strides = desc.data.format_desc.blocking.strides;
  return {strides, strides + desc.data.ndims};
}

// Batch, rows, columns and features lie in this order, dense.
bool is_channels_last(const DirectDesc& desc) {
  const auto sizes = desc.dims();
  const auto strides = strides_of(desc);
  const auto fits = [&](size_t axis, int64_t stride) {
    return sizes[axis] == 1 || strides[axis] == stride;
  };
  return fits(1, 1) && fits(3, sizes[1]) && fits(2, sizes[1] * sizes[3]) &&
         fits(0, sizes[1] * sizes[3] * sizes[2]);
}

bool has_plain_sizes(const ConvolutionProblem& p) {
  if (p.strides.size() != 2 || p.kernel.data.ndims != 4) return false;
  const auto is_f32 = [](const DirectDesc& desc) {
    return desc.data_type() == dnnl::memory::data_type::f32;
  };
  const auto is_zero = [](int64_t dilation) { return dilation == 0; };
  return is_f32(p.image) && is_f32(p.kernel) && is_f32(p.output) &&
         std::ranges::all_of(p.dilations, is_zero) && is_channels_last(p.image) &&
         is_channels_last(p.output);
}

// The gradient's images are the output of the convolution that computes it.
DirectSizes mirrored_sizes(const DirectSizes& s) {
  DirectSizes result = s;
  std::swap(result.height, result.rows);
  std::swap(result.width, result.columns);
  std::swap(result.features, result.out_features);
  std::swap(result.kernel_in, result.kernel_out);
  result.low_rows = s.kernel_height - 1 - s.low_rows;
  result.low_columns = s.kernel_width - 1 - s.low_columns;
  result.kernel_first +=
      (s.kernel_height - 1) * s.kernel_row + (s.kernel_width - 1) * s.kernel_column;
  result.kernel_row = -s.kernel_row;
  result.kernel_column = -s.kernel_column;
  return result;
}

}  // namespace

std::optional<DirectSizes> direct_sizes(const ConvolutionProblem& p) {
  if (!has_plain_sizes(p)) return std::nullopt;
  const auto image = p.image.dims();
  const auto output = p.output.dims();
  const auto kernel = p.kernel.dims();
  const auto kernel_strides = strides_of(p.kernel);
  const DirectSizes sizes{.batch = image[0],
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
                          .kernel_first = 0,
                          .kernel_row = kernel_strides[2],
                          .kernel_column = kernel_strides[3],
                          .kernel_in = kernel_strides[1],
                          .kernel_out = kernel_strides[0]};
  if (p.form != DirectForm::input_gradient) return sizes;
  const DirectSizes result = mirrored_sizes(sizes);
  const bool fits = sizes.row_stride == 1 && sizes.column_stride == 1 && result.low_rows >= 0 &&
                    result.low_columns >= 0;
  return fits ? std::optional(result) : std::nullopt;
}

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

std::vector<int64_t> window_places(const DirectSizes& s) {
  std::vector<int64_t> places;
  for (int64_t row = 0; row < s.kernel_height; ++row) {
    for (int64_t i = 0; i < s.depth(); ++i) places.push_back(row * s.line() + i);
  }
  return places;
}

float* line_memory(int64_t elements) {
  thread_local Tensor memory(DType::f32, {0});
  if (memory.shape().num_elements() < elements) memory = Tensor(DType::f32, {elements});
  return memory.data<float>().data();
}

bool host_has_direct_kernels() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512f") != 0;
#else
  return false;
#endif
}

}  // namespace systole::cpu
