#include "systole/backends/cpu/kernels/convolution_problem.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "systole/backends/cpu/kernels/onednn.h"
#include "systole/backends/cpu/kernels/sizes.h"

namespace systole::cpu {
namespace {

using hlo::ConvolutionAttrs;
using hlo::Instruction;
using Desc = dnnl::memory::desc;
using Sizes = dnnl::memory::dims;
using Form = ConvolutionProblem::Form;

// The attributes with what they leave out filled in.
struct Window {
  explicit Window(const Instruction& x) {
    const auto& attrs = x.attrs<ConvolutionAttrs>();
    const size_t rank = attrs.input_spatial_dimensions.size();
    const auto filled = [&](const Dims& dims) {
      return dims.empty() ? Sizes(rank, 1) : Sizes(dims.begin(), dims.end());
    };
    strides = filled(attrs.window_strides);
    lhs_dilation = filled(attrs.lhs_dilation);
    rhs_dilation = filled(attrs.rhs_dilation);
    for (size_t d = 0; d < rank; ++d) {
      low.push_back(attrs.padding.empty() ? 0 : attrs.padding[d].first);
      size.push_back(x.operand(1).shape()[static_cast<int>(attrs.kernel_spatial_dimensions[d])]);
      const bool flips = !attrs.window_reversal.empty() && attrs.window_reversal[d] && size[d] > 1;
      some_reversed = some_reversed || flips;
      all_reversed = all_reversed && (flips || size[d] == 1);
    }
  }
  Sizes strides, lhs_dilation, rhs_dilation, low, size;
  bool some_reversed = false;
  bool all_reversed = true;
};

Sizes minus_one(Sizes sizes) {
  for (int64_t& s : sizes) --s;
  return sizes;
}

// A tensor as oneDNN sees it: these two axes, then the spatial ones.
Desc layout(const TensorType& type, int64_t first, int64_t second, const Dims& spatial) {
  const Dims strides = type.shape.strides();
  Sizes sizes;
  Sizes steps;
  const auto add = [&](int64_t axis) {
    sizes.push_back(type.shape[static_cast<int>(axis)]);
    steps.push_back(strides[u(axis)]);
  };
  add(first);
  add(second);
  for (const int64_t axis : spatial) add(axis);
  return Desc(sizes, *onednn_type(type.dtype), steps);
}

// The same kernel with the groups, which `axis` walks through in its outer part, as a first axis.
Desc split_groups(const Desc& kernel, size_t axis, int64_t groups) {
  if (groups == 1) return kernel;
  Sizes sizes = sizes_of(kernel);
  Sizes steps = strides_of(kernel);
  sizes[axis] /= groups;
  sizes.insert(sizes.begin(), groups);
  steps.insert(steps.begin(), steps[axis] * sizes[axis + 1]);
  return Desc(sizes, type_of(kernel), steps);
}

ConvolutionProblem forward_problem(const Instruction& x, const Window& window) {
  const auto& a = x.attrs<ConvolutionAttrs>();
  const Desc kernel = layout(x.operand(1).type(), a.kernel_output_feature_dimension,
                             a.kernel_input_feature_dimension, a.kernel_spatial_dimensions);
  return {.form = Form::forward,
          .image = layout(x.operand(0).type(), a.input_batch_dimension, a.input_feature_dimension,
                          a.input_spatial_dimensions),
          .kernel = split_groups(kernel, 0, a.feature_group_count),
          .output = layout(x.type(), a.output_batch_dimension, a.output_feature_dimension,
                           a.output_spatial_dimensions),
          .strides = window.strides,
          .dilations = minus_one(window.rhs_dilation),
          .low = window.low,
          .high = {}};
}

// The result is the image's gradient, the input that of the output, its holes the forward strides.
ConvolutionProblem input_gradient_problem(const Instruction& x, const Window& window) {
  const auto& a = x.attrs<ConvolutionAttrs>();
  const Desc kernel = layout(x.operand(1).type(), a.kernel_input_feature_dimension,
                             a.kernel_output_feature_dimension, a.kernel_spatial_dimensions);
  ConvolutionProblem p{.form = Form::input_gradient,
                       .image = layout(x.type(), a.output_batch_dimension,
                                       a.output_feature_dimension, a.output_spatial_dimensions),
                       .kernel = split_groups(kernel, 1, a.feature_group_count),
                       .output = layout(x.operand(0).type(), a.input_batch_dimension,
                                        a.input_feature_dimension, a.input_spatial_dimensions),
                       .strides = window.lhs_dilation,
                       .dilations = minus_one(window.rhs_dilation),
                       .low = {},
                       .high = {}};
  for (size_t d = 0; d < window.low.size(); ++d) {
    p.low.push_back((window.size[d] - 1) * window.rhs_dilation[d] - window.low[d]);
  }
  return p;
}

// The result is the kernel's gradient: the images are the features of the input, and the output's
// gradient is the window. Groups of channels are groups of the input's batch.
ConvolutionProblem kernel_gradient_problem(const Instruction& x, const Window& window) {
  const auto& a = x.attrs<ConvolutionAttrs>();
  const Desc kernel = layout(x.type(), a.output_feature_dimension, a.output_batch_dimension,
                             a.output_spatial_dimensions);
  return {.form = Form::kernel_gradient,
          .image = layout(x.operand(0).type(), a.input_feature_dimension, a.input_batch_dimension,
                          a.input_spatial_dimensions),
          .kernel = split_groups(kernel, 0, a.batch_group_count),
          .output = layout(x.operand(1).type(), a.kernel_input_feature_dimension,
                           a.kernel_output_feature_dimension, a.kernel_spatial_dimensions),
          .strides = window.rhs_dilation,
          .dilations = minus_one(window.strides),
          .low = window.low,
          .high = {}};
}

// With what all forms have: the precision, and the upper padding that makes the forward
// convolution's output as large as it is; nullopt when oneDNN would not have it.
std::optional<ConvolutionProblem> completed(const Instruction& x, ConvolutionProblem p) {
  p.highest =
      std::ranges::count(x.attrs<ConvolutionAttrs>().precision_config, hlo::Precision::highest) > 0;
  const size_t rank = p.strides.size();
  const auto spatial = [rank](const Desc& desc, size_t d) {
    const Sizes sizes = sizes_of(desc);
    return sizes[sizes.size() - rank + d];
  };
  for (size_t d = 0; d < rank; ++d) {
    const int64_t window = (spatial(p.kernel, d) - 1) * (p.dilations[d] + 1) + 1;
    p.high.push_back(
        high_padding(spatial(p.image, d), window, p.strides[d], p.low[d], spatial(p.output, d)));
    if (p.low[d] < 0 || p.high[d] <= -p.strides[d]) return std::nullopt;
  }
  return p;
}

// Whether the array is dense in the order batch, rows, columns, features.
bool is_channels_last(const Desc& desc) {
  const Sizes sizes = sizes_of(desc);
  const Sizes strides = strides_of(desc);
  const auto fits = [&](size_t axis, int64_t stride) {
    return sizes[axis] == 1 || strides[axis] == stride;
  };
  return fits(1, 1) && fits(3, sizes[1]) && fits(2, sizes[1] * sizes[3]) &&
         fits(0, sizes[1] * sizes[3] * sizes[2]);
}

bool supported(DType lhs, DType rhs, DType result) {
  if (lhs != rhs) return false;
  if (lhs == DType::s8) return result == DType::s32;
  return lhs == DType::f32 ? result == DType::f32
                           : lhs == DType::bf16 && (result == DType::bf16 || result == DType::f32);
}

}  // namespace

bool is_plain_convolution(const ConvolutionProblem& p, dnnl::memory::data_type type) {
  const Desc* const arrays[] = {&p.image, &p.kernel, &p.output};
  const auto others =
      std::ranges::count_if(arrays, [&](const Desc* desc) { return type_of(*desc) != type; });
  const auto is_zero = [](int64_t dilation) { return dilation == 0; };
  // (The result of bf16 operands may be f32; other combinations are no ConvolutionProblem.)
  return p.strides.size() == 2 && rank_of(p.kernel) == 4 &&
         others <= (type == dnnl::memory::data_type::bf16 ? 1 : 0) &&
         std::ranges::all_of(p.dilations, is_zero) && is_channels_last(p.image) &&
         is_channels_last(p.output);
}

std::optional<ConvolutionProblem> convolution_problem(const Instruction& x) {
  if (!supported(x.operand(0).dtype(), x.operand(1).dtype(), x.dtype())) return std::nullopt;
  const auto& a = x.attrs<ConvolutionAttrs>();
  const Window window(x);
  if (window.size.empty() || window.size.size() > 3) return std::nullopt;
  if (x.operand(0).dtype() == DType::s8) {  // has no gradients
    const bool forward =
        all_ones(window.lhs_dilation) && !window.some_reversed && a.batch_group_count == 1;
    return forward ? completed(x, forward_problem(x, window)) : std::nullopt;
  }
  if (!all_ones(window.lhs_dilation) || window.some_reversed) {
    const bool fits = window.all_reversed && all_ones(window.strides) && a.batch_group_count == 1;
    return fits ? completed(x, input_gradient_problem(x, window)) : std::nullopt;
  }
  const bool large_window = product(x.operand(1).shape(), a.kernel_spatial_dimensions) >
                            product(x.shape(), a.output_spatial_dimensions);
  if (a.batch_group_count > 1 || (large_window && a.feature_group_count == 1)) {
    if (auto problem = completed(x, kernel_gradient_problem(x, window))) return problem;
  }
  return a.batch_group_count > 1 ? std::nullopt : completed(x, forward_problem(x, window));
}

}  // namespace systole::cpu
