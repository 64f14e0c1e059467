#include "systole/backends/cpu/kernels/onednn_convolution.h"

#include <algorithm>
#include <optional>

#include "systole/backends/cpu/kernels/onednn.h"

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

// The axes of a row-major array in another order, as a memory descriptor.
Desc desc_of(const TensorType& type, const Dims& axes) {
  const Dims strides = type.shape.strides();
  Sizes sizes;
  Sizes steps;
  for (const int64_t axis : axes) {
    sizes.push_back(type.shape[static_cast<int>(axis)]);
    steps.push_back(strides[static_cast<size_t>(axis)]);
  }
  return {sizes, onednn_type(type.dtype).value(), steps};
}

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
  layer.source = desc_of(t.lhs, with_spatial(a.input_batch_dimension, a.input_feature_dimension, a.input_spatial_dimensions));
  layer.weights = split_groups(
      desc_of(t.rhs, with_spatial(a.kernel_output_feature_dimension, a.kernel_input_feature_dimension,
                               a.kernel_spatial_dimensions)),
      0, a.feature_group_count);
  layer.destination = desc_of(t.result, with_spatial(a.output_batch_dimension, a.output_feature_dimension, a.output_spatial_dimensions));
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
  layer.destination = desc_of(t.lhs, with_spatial(a.input_batch_dimension, a.input_feature_dimension, a.input_spatial_dimensions));
  // The filter's axes in HLO's view: kernel_input_feature is the layer's [o / groups], kernel_output_feature its c.
  layer.weights = desc_of(t.rhs, with_spatial(a.kernel_input_feature_dimension, a.kernel_output_feature_dimension,
                                           a.kernel_spatial_dimensions));
  layer.weights = split_groups(layer.weights, 1, a.feature_group_count);
  layer.source = desc_of(t.result, with_spatial(a.output_batch_dimension, a.output_feature_dimension, a.output_spatial_dimensions));
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
  layer.source = desc_of(t.lhs, with_spatial(a.input_feature_dimension, a.input_batch_dimension, a.input_spatial_dimensions));
  layer.destination = desc_of(t.rhs, with_spatial(a.kernel_input_feature_dimension, a.kernel_output_feature_dimension,
                                               a.kernel_spatial_dimensions));
  layer.weights = split_groups(
      desc_of(t.result, with_spatial(a.output_feature_dimension, a.output_batch_dimension, a.output_spatial_dimensions)),
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

class ConvolutionKernel : public Kernel {
 public:
  ConvolutionKernel(dnnl::primitive primitive, std::vector<OnednnCall::Operand> operands, int num_threads)
      : call_(std::move(primitive), std::move(operands), num_threads) {}
  void run(std::span<void* const> buffers, RunContext&) const override { call_.run(buffers); }

 private:
  OnednnCall call_;
};

// A primitive and its operands in the order input, kernel, result.
struct Made {
  dnnl::primitive primitive;
  std::vector<OnednnCall::Operand> operands;
};

Made make_forward(const Layer& l) {
  const auto d = forward_description(l);
  return {dnnl::convolution_forward(d),
          {{DNNL_ARG_SRC, l.source, d.src_desc()},
           {DNNL_ARG_WEIGHTS, l.weights, d.weights_desc()},
           {DNNL_ARG_DST, l.destination, d.dst_desc(), /*is_output=*/true}}};
}

Made make_input_gradient(const Layer& l) {
  const dnnl::convolution_backward_data::primitive_desc d(
      {algorithm::convolution_direct, preferred(l.source), any_layout(l.weights), preferred(l.destination), l.strides,
       l.dilations, l.pad_low, l.pad_high},
      onednn_engine(), forward_description(l));
  return {dnnl::convolution_backward_data(d),
          {{DNNL_ARG_DIFF_DST, l.destination, d.diff_dst_desc()},
           {DNNL_ARG_WEIGHTS, l.weights, d.weights_desc()},
           {DNNL_ARG_DIFF_SRC, l.source, d.diff_src_desc(), /*is_output=*/true}}};
}

Made make_filter_gradient(const Layer& l) {
  const dnnl::convolution_backward_weights::primitive_desc d(
      {algorithm::convolution_direct, preferred(l.source), any_layout(l.weights), preferred(l.destination), l.strides,
       l.dilations, l.pad_low, l.pad_high},
      onednn_engine(), forward_description(l));
  return {dnnl::convolution_backward_weights(d),
          {{DNNL_ARG_SRC, l.source, d.src_desc()},
           {DNNL_ARG_DIFF_DST, l.destination, d.diff_dst_desc()},
           {DNNL_ARG_DIFF_WEIGHTS, l.weights, d.diff_weights_desc(), /*is_output=*/true}}};
}

bool fits(const Layer& layer) {
  const auto non_negative = [](const Sizes& sizes) { return std::ranges::all_of(sizes, [](int64_t s) { return s >= 0; }); };
  return non_negative(layer.pad_low) && non_negative(layer.pad_high);
}

bool supported(const Types& t) {
  const DType dtype = t.lhs.dtype;
  return (dtype == DType::f32 || dtype == DType::bf16) && t.rhs.dtype == dtype &&
         (t.result.dtype == dtype || t.result.dtype == DType::f32) && t.lhs.shape.num_elements() > 0 &&
         t.rhs.shape.num_elements() > 0 && t.result.shape.num_elements() > 0;
}

int64_t window_count(const Shape& shape, const Dims& axes) {
  int64_t count = 1;
  for (const int64_t axis : axes) count *= shape[static_cast<int>(axis)];
  return count;
}

// What a convolution is to oneDNN.
struct Form {
  Layer layer;
  Made (*make)(const Layer&);
};

// nullopt when none of the three forms.
std::optional<Form> recognise(const hlo::ConvolutionAttrs& a, const Types& t) {
  const size_t spatial = a.window_strides.size();
  if (spatial < 1 || spatial > 3) return std::nullopt;
  const auto reversed = static_cast<size_t>(std::ranges::count(a.window_reversal, true));
  if (reversed == spatial && all_equal(a.window_strides, 1) && a.batch_group_count == 1) {
    return Form{input_gradient_layer(a, t), make_input_gradient};
  }
  if (reversed != 0 || !all_equal(a.lhs_dilation, 1)) return std::nullopt;
  const bool large_kernel = window_count(t.rhs.shape, a.kernel_spatial_dimensions) >
                            window_count(t.result.shape, a.output_spatial_dimensions);
  if ((large_kernel || a.batch_group_count > 1) && a.feature_group_count == 1) {
    return Form{filter_gradient_layer(a, t), make_filter_gradient};
  }
  if (a.batch_group_count != 1) return std::nullopt;
  return Form{forward_layer(a, t), make_forward};
}

}  // namespace

std::unique_ptr<Kernel> make_convolution_kernel(const hlo::Instruction& convolution, int num_threads) {
  const Types types{convolution.operand(0).type(), convolution.operand(1).type(), convolution.type()};
  if (!supported(types)) return nullptr;
  const auto form = recognise(convolution.attrs<hlo::ConvolutionAttrs>(), types);
  if (!form || !fits(form->layer)) return nullptr;
  set_onednn_threads(num_threads);
  try {
    Made made = form->make(form->layer);
    return std::make_unique<ConvolutionKernel>(std::move(made.primitive), std::move(made.operands), num_threads);
  } catch (const dnnl::error&) {
    return nullptr;  // no implementation of this size or padding
  }
}

}  // namespace systole::cpu
