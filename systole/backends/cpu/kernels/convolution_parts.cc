#include "systole/backends/cpu/kernels/convolution_parts.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "systole/backends/cpu/kernels/onednn_version.h"

namespace systole::cpu {
namespace {

constexpr size_t kRows = 2;  // the axis of rows in an image and an output

// Part of an axis.
struct AxisRange {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

struct Cut {
  AxisRange images;       // of the batch
  AxisRange image_rows;   // of the image
  AxisRange output_rows;  // of the output
};

int64_t window_rows(const ConvolutionProblem& p) {
  const auto sizes = sizes_of(p.kernel);
  const int64_t rows = sizes[sizes.size() - p.strides.size()];
  return (rows - 1) * (p.dilations[0] + 1) + 1;
}

// The image's rows that the windows of these output rows lie on.
AxisRange rows_under(const ConvolutionProblem& p, AxisRange outputs) {
  const int64_t height = sizes_of(p.image)[kRows];
  const int64_t begin = std::clamp<int64_t>(outputs.begin * p.strides[0] - p.low[0], 0, height);
  const int64_t end = (outputs.end - 1) * p.strides[0] - p.low[0] + window_rows(p);
  return {begin, std::clamp(end, begin, height)};
}

// The output's rows whose windows lie on some of these image rows.
AxisRange rows_over(const ConvolutionProblem& p, AxisRange images) {
  const int64_t rows = sizes_of(p.output)[kRows];
  const int64_t stride = p.strides[0];
  const int64_t first = std::max<int64_t>(images.begin + p.low[0] - window_rows(p) + 1, 0);
  const int64_t begin = std::min((first + stride - 1) / stride, rows);
  const int64_t end = (images.end - 1 + p.low[0]) / stride + 1;
  return {begin, std::clamp(end, begin, rows)};
}

// The same memory's part. One image's stride between images means nothing; oneDNN knows a layout by
// that of a dense array.
dnnl::memory::desc layout_of_part(const dnnl::memory::desc& whole, AxisRange images,
                                  AxisRange rows) {
  dnnl::memory::dims sizes = sizes_of(whole);
  dnnl::memory::dims strides = strides_of(whole);
  if (images.size() == 1 && strides[0] % sizes[kRows] == 0)
    strides[0] = strides[0] / sizes[kRows] * rows.size();
  sizes[0] = images.size();
  sizes[kRows] = rows.size();
  return dnnl::memory::desc(sizes, type_of(whole), strides);
}

int64_t offset_of_part(const dnnl::memory::desc& whole, AxisRange images, AxisRange rows) {
  const dnnl::memory::dims strides = strides_of(whole);
  return (images.begin * strides[0] + rows.begin * strides[kRows]) *
         static_cast<int64_t>(dnnl::memory::data_type_size(type_of(whole)));
}

// nullopt if that is no convolution that oneDNN takes.
std::optional<ConvolutionPart> make_part(const ConvolutionProblem& p, const Cut& cut) {
  if (cut.image_rows.size() <= 0 || cut.output_rows.size() <= 0) return std::nullopt;
  ConvolutionProblem part = p;
  part.image = layout_of_part(p.image, cut.images, cut.image_rows);
  part.output = layout_of_part(p.output, cut.images, cut.output_rows);
  part.low[0] = p.low[0] + cut.image_rows.begin - cut.output_rows.begin * p.strides[0];
  part.high[0] = high_padding(cut.image_rows.size(), window_rows(p), p.strides[0], part.low[0],
                              cut.output_rows.size());
  if (part.low[0] < 0 || part.high[0] <= -p.strides[0]) return std::nullopt;
  return ConvolutionPart{.problem = std::move(part),
                         .image_offset = offset_of_part(p.image, cut.images, cut.image_rows),
                         .output_offset = offset_of_part(p.output, cut.images, cut.output_rows)};
}

std::vector<AxisRange> cut_range(int64_t size, int64_t count) {
  const int64_t each = (size + count - 1) / count;
  std::vector<AxisRange> result;
  for (int64_t begin = 0; begin < size; begin += each)
    result.push_back({begin, std::min(begin + each, size)});
  return result;
}

}  // namespace

double operations_of(const ConvolutionProblem& p) {
  const auto elements = [](const dnnl::memory::dims& sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), 1.0, std::multiplies<>());
  };
  // Each output element uses the kernel elements of its own feature.
  const dnnl::memory::dims output = sizes_of(p.output);
  return 2 * elements(output) * elements(sizes_of(p.kernel)) / static_cast<double>(output[1]);
}

std::vector<ConvolutionPart> cut_convolution(const ConvolutionProblem& p, int64_t count) {
  const int64_t min_rows = std::max<int64_t>(2, window_rows(p));
  const bool of_image = p.form == ConvolutionProblem::Form::input_gradient;
  const int64_t batch = sizes_of(p.image)[0];
  const int64_t result_rows = sizes_of(of_image ? p.image : p.output)[kRows];
  const AxisRange all_images{0, sizes_of(p.image)[kRows]};
  const AxisRange all_outputs{0, sizes_of(p.output)[kRows]};
  const int64_t row_cuts =
      batch >= count ? 1 : std::clamp<int64_t>(result_rows / min_rows, 1, count / batch);
  std::vector<ConvolutionPart> parts;
  for (const AxisRange& images : cut_range(batch, row_cuts > 1 ? batch : std::min(batch, count))) {
    for (const AxisRange& rows : cut_range(result_rows, row_cuts)) {
      Cut cut{images, all_images, all_outputs};
      if (row_cuts > 1) {
        cut.image_rows = of_image ? rows : rows_under(p, rows);
        cut.output_rows = of_image ? rows_over(p, rows) : rows;
      }
      auto part = make_part(p, cut);
      if (!part) return {{.problem = p}};
      parts.push_back(std::move(*part));
    }
  }
  return parts;
}

}  // namespace systole::cpu
