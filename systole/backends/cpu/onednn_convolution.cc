#include "systole/backends/cpu/onednn_convolution.h"

#include <algorithm>

namespace systole::cpu {
namespace {

using dnnl::algorithm;
using dnnl::prop_kind;
using Desc = dnnl::memory::desc;
using Sizes = dnnl::memory::dims;

// A layer's convolution in oneDNN's terms: whichever of the three tensors is computed, their roles are these.
struct Layer {
  Desc source;       // [n, c, spatial..]
  Desc weights;      // [o, c, spatial..], or [groups, o / groups, c / groups, spatial..]
  Desc destination;  // [n, o, spatial..]
  Sizes strides;
  Sizes dilations;  // oneDNN's: 0 is dense
  Sizes pad_low;
  Sizes pad_high;
};

Dims with_spatial(int64_t first, int64_t second, const Dims& spatial) {
  Dims axes{first, second};
  axes.insert(axes.end(), spatial.begin(), spatial.end());
  return axes;
}

// Splits axis `axis` of a descriptor into [groups, size / groups] and puts the groups first.
Desc split_groups(const Desc& desc, size_t axis, int64_t groups) {
  if (groups == 1) return desc;
  Sizes sizes = desc.dims();
  Sizes strides(desc.data.format_desc.blocking.strides, desc.data.format_desc.blocking.strides + desc.data.ndims);
  sizes[axis] /= groups;
  sizes.insert(sizes.begin(), groups);
  strides.insert(strides.begin(), sizes[axis + 1] * strides[axis]);
  return {sizes, desc.data_type(), strides};
}

bool all_equal(const Dims& dims, int64_t value) {
  return std::ranges::all_of(dims, [&](int64_t d) { return d == value; });
}

// The padding behind that makes `out` windows of the layer fit; windows may leave elements over.
Sizes high_padding(const Layer& layer, const Sizes& in, const Sizes& window, const Sizes& out) {
  Sizes high;
  for (size_t i = 0; i < layer.strides.size(); ++i) {
    const int64_t reach = (out[i] - 1) * layer.strides[i] + (window[i] - 1) * (layer.dilations[i] + 1) + 1;
    high.push_back(std::max<int64_t>(reach - in[i] - layer.pad_low[i], 0));
  }
  return high;
}

Sizes spatial_sizes(const Shape& shape, const Dims& axes) {
  Sizes sizes;
  for (const int64_t axis : axes) sizes.push_back(shape[static_cast<int>(axis)]);
  return sizes;
}

Sizes minus_one(const Dims& dims) {
  Sizes result;
  for (const int64_t d : dims) result.push_back(d - 1);
  return result;
}

struct Types {
  const TensorType& lhs;
  const TensorType& rhs;
  const TensorType& result;
};

Layer forward_layer(const hlo::ConvolutionAttrs& a, const Types& t) {
  Layer layer;
  layer.source = onednn_desc(t.lhs.dtype, t.lhs.shape,
                             with_spatial(a.input_batch_dimension, a.input_feature_dimension, a.input_spatial_dimensions));
  layer.weights = split_groups(
      onednn_desc(t.rhs.dtype, t.rhs.shape,
                  with_spatial(a.kernel_output_feature_dimension, a.kernel_input_feature_dimension,
                               a.kernel_spatial_dimensions)),
      0, a.feature_group_count);
  layer.destination = onednn_desc(
      t.result.dtype, t.result.shape,
      with_spatial(a.output_batch_dimension, a.output_feature_dimension, a.output_spatial_dimensions));
  layer.strides.assign(a.window_strides.begin(), a.window_strides.end());
  layer.dilations = minus_one(a.rhs_dilation);
  for (const auto& [low, high] : a.padding) layer.pad_low.push_back(low);
  layer.pad_high = high_padding(layer, spatial_sizes(t.lhs.shape, a.input_spatial_dimensions),
                                spatial_sizes(t.rhs.shape, a.kernel_spatial_dimensions),
                                spatial_sizes(t.result.shape, a.output_spatial_dimensions));
  return layer;
}

// lhs is the gradient by the layer's result, rhs the layer's filter, the result the gradient by its input.
Layer input_gradient_layer(const hlo::ConvolutionAttrs& a, const Types& t) {
  Layer layer;
  layer.destination = onednn_desc(
      t.lhs.dtype, t.lhs.shape,
      with_spatial(a.input_batch_dimension, a.input_feature_dimension, a.input_spatial_dimensions));
  // The filter's axes in HLO's view: kernel_input_feature is the layer's [o / groups], kernel_output_feature its c.
  layer.weights = onednn_desc(t.rhs.dtype, t.rhs.shape,
                              with_spatial(a.kernel_input_feature_dimension, a.kernel_output_feature_dimension,
                                           a.kernel_spatial_dimensions));
  layer.weights = split_groups(layer.weights, 1, a.feature_group_count);
  layer.source = onednn_desc(
      t.result.dtype, t.result.shape,
      with_spatial(a.output_batch_dimension, a.output_feature_dimension, a.output_spatial_dimensions));
  layer.strides.assign(a.lhs_dilation.begin(), a.lhs_dilation.end());
  layer.dilations = minus_one(a.rhs_dilation);
  const Sizes window = spatial_sizes(t.rhs.shape, a.kernel_spatial_dimensions);
  for (size_t i = 0; i < window.size(); ++i) {
    layer.pad_low.push_back((window[i] - 1) * (layer.dilations[i] + 1) - a.padding[i].first);
  }
  layer.pad_high = high_padding(layer, spatial_sizes(t.result.shape, a.output_spatial_dimensions), window,
                                spatial_sizes(t.lhs.shape, a.input_spatial_dimensions));
  return layer;
}

// lhs is the layer's input with batch and features swapped, rhs the gradient by its result, the result the gradient by
// its filter.
Layer filter_gradient_layer(const hlo::ConvolutionAttrs& a, const Types& t) {
  Layer layer;
  layer.source = onednn_desc(t.lhs.dtype, t.lhs.shape,
                             with_spatial(a.input_feature_dimension, a.input_batch_dimension, a.input_spatial_dimensions));
  layer.destination = onednn_desc(t.rhs.dtype, t.rhs.shape,
                                  with_spatial(a.kernel_input_feature_dimension, a.kernel_output_feature_dimension,
                                               a.kernel_spatial_dimensions));
  layer.weights = split_groups(
      onednn_desc(t.result.dtype, t.result.shape,
                  with_spatial(a.output_feature_dimension, a.output_batch_dimension, a.output_spatial_dimensions)),
      0, a.batch_group_count);
  layer.strides.assign(a.rhs_dilation.begin(), a.rhs_dilation.end());
  layer.dilations = minus_one(a.window_strides);
  for (const auto& [low, high] : a.padding) layer.pad_low.push_back(low);
  layer.pad_high = high_padding(layer, spatial_sizes(t.lhs.shape, a.input_spatial_dimensions),
                                spatial_sizes(t.result.shape, a.output_spatial_dimensions),
                                spatial_sizes(t.rhs.shape, a.kernel_spatial_dimensions));
  return layer;
}

// Channels innermost is a layout that oneDNN computes in; from any other it is left to choose.
bool channels_last(const Desc& desc) {
  const auto& strides = desc.data.format_desc.blocking.strides;
  return desc.data.ndims > 2 && (strides[1] == 1 || desc.dims()[1] == 1);
}
Desc preferred(const Desc& desc) {
  if (channels_last(desc)) return desc;
  return {desc.dims(), desc.data_type(), dnnl::memory::format_tag::any};
}
Desc any_layout(const Desc& desc) { return {desc.dims(), desc.data_type(), dnnl::memory::format_tag::any}; }

dnnl::convolution_forward::primitive_desc forward_description(const Layer& l) {
  return {{prop_kind::forward_inference, algorithm::convolution_direct, preferred(l.source), any_layout(l.weights),
           preferred(l.destination), l.strides, l.dilations, l.pad_low, l.pad_high},
          onednn_engine()};
}

using Operands = std::vector<OnednnPrimitive::Operand>;

std::unique_ptr<OnednnPrimitive> make_forward(const Layer& l, int threads) {
  const auto d = forward_description(l);
  return std::make_unique<OnednnPrimitive>(dnnl::convolution_forward(d),
                                           Operands{{DNNL_ARG_SRC, l.source, d.src_desc()},
                                                    {DNNL_ARG_WEIGHTS, l.weights, d.weights_desc()},
                                                    {DNNL_ARG_DST, l.destination, d.dst_desc(), true}},
                                           threads);
}

std::unique_ptr<OnednnPrimitive> make_input_gradient(const Layer& l, int threads) {
  const dnnl::convolution_backward_data::primitive_desc d(
      {algorithm::convolution_direct, preferred(l.source), any_layout(l.weights), preferred(l.destination), l.strides,
       l.dilations, l.pad_low, l.pad_high},
      onednn_engine(), forward_description(l));
  return std::make_unique<OnednnPrimitive>(dnnl::convolution_backward_data(d),
                                           Operands{{DNNL_ARG_DIFF_DST, l.destination, d.diff_dst_desc()},
                                                    {DNNL_ARG_WEIGHTS, l.weights, d.weights_desc()},
                                                    {DNNL_ARG_DIFF_SRC, l.source, d.diff_src_desc(), true}},
                                           threads);
}

std::unique_ptr<OnednnPrimitive> make_filter_gradient(const Layer& l, int threads) {
  const dnnl::convolution_backward_weights::primitive_desc d(
      {algorithm::convolution_direct, preferred(l.source), any_layout(l.weights), preferred(l.destination), l.strides,
       l.dilations, l.pad_low, l.pad_high},
      onednn_engine(), forward_description(l));
  return std::make_unique<OnednnPrimitive>(dnnl::convolution_backward_weights(d),
                                           Operands{{DNNL_ARG_SRC, l.source, d.src_desc()},
                                                    {DNNL_ARG_DIFF_DST, l.destination, d.diff_dst_desc()},
                                                    {DNNL_ARG_DIFF_WEIGHTS, l.weights, d.diff_weights_desc(), true}},
                                           threads);
}

bool fits(const Layer& layer) {
  const auto non_negative = [](const Sizes& sizes) {
    return std::ranges::all_of(sizes, [](int64_t s) { return s >= 0; });
  };
  return non_negative(layer.pad_low) && non_negative(layer.pad_high);
}

}  // namespace

std::unique_ptr<OnednnPrimitive> make_onednn_convolution(const hlo::ConvolutionAttrs& attrs, const TensorType& lhs,
                                                         const TensorType& rhs, const TensorType& result,
                                                         int threads) {
  const Types types{lhs, rhs, result};
  const size_t spatial = attrs.window_strides.size();
  const bool known_dtype = lhs.dtype == rhs.dtype && (lhs.dtype == DType::f32 || lhs.dtype == DType::bf16) &&
                           (result.dtype == lhs.dtype || result.dtype == DType::f32);
  if (!known_dtype || spatial < 1 || spatial > 3 || result.shape.num_elements() == 0 ||
      lhs.shape.num_elements() == 0 || rhs.shape.num_elements() == 0) {
    return nullptr;
  }
  const auto reversed = std::ranges::count(attrs.window_reversal, true);
  int64_t kernel = 1;
  int64_t out = 1;
  for (const int64_t axis : attrs.kernel_spatial_dimensions) kernel *= rhs.shape[static_cast<int>(axis)];
  for (const int64_t axis : attrs.output_spatial_dimensions) out *= result.shape[static_cast<int>(axis)];

  const OnednnThreads scope(threads);
  try {
    if (reversed == static_cast<int64_t>(spatial) && all_equal(attrs.window_strides, 1) &&
        attrs.batch_group_count == 1) {
      const Layer layer = input_gradient_layer(attrs, types);
      return fits(layer) ? make_input_gradient(layer, threads) : nullptr;
    }
    if (reversed != 0 || !all_equal(attrs.lhs_dilation, 1)) return nullptr;
    if (kernel > out && attrs.feature_group_count == 1) {
      const Layer layer = filter_gradient_layer(attrs, types);
      return fits(layer) ? make_filter_gradient(layer, threads) : nullptr;
    }
    if (attrs.batch_group_count != 1) return nullptr;
    const Layer layer = forward_layer(attrs, types);
    return fits(layer) ? make_forward(layer, threads) : nullptr;
  } catch (const dnnl::error&) {
    return nullptr;  // no implementation
  }
}

}  // namespace systole::cpu
