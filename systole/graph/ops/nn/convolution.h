// The three convolutions of a 2-D layer as HLO: forward, and the gradients by input and by filter.
// Plain and depthwise ones differ in `depthwise` alone: the filter is [h, w, in, out] or [h, w, in,
// multiplier].
#pragma once

#include "systole/graph/op_def.h"
#include "systole/graph/ops/nn/window_geometry.h"

namespace systole {

enum class ConvolutionKind : uint8_t { plain, depthwise };

AttrMap convolution_attrs(std::string_view op, const Input& input, const Conv2DOptions& options);
// [batch, .., out]. Errors: INVALID_ARGUMENT for ranks, dtypes, channels that differ.
Shape convolution_shape(const AttrMap& attrs, const TensorType& input, const TensorType& filter,
                        ConvolutionKind kind);

hlo::Value lower_convolution(LowerContext& c, hlo::Value input, hlo::Value filter,
                             ConvolutionKind kind);
hlo::Value lower_input_gradient(LowerContext& c, const Shape& input, hlo::Value filter,
                                hlo::Value gradient, ConvolutionKind kind);
hlo::Value lower_filter_gradient(LowerContext& c, hlo::Value input, const Shape& filter,
                                 hlo::Value gradient, ConvolutionKind kind);

}  // namespace systole
