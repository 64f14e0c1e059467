// The three convolutions of a layer as HLO: forward, and the gradients by input and by filter, of
// images and volumes. The filter is [spatial sizes.., in, out], that of a depthwise one [height,
// width, in, multiplier].
#pragma once

#include "systole/graph/core/op_def.h"
#include "systole/graph/ops/nn/window_geometry.h"

namespace systole {

enum class ConvolutionKind : uint8_t { conv2d, depthwise, conv3d };

// The options of an op as its attributes.
AttrMap convolution_attrs(std::string_view op, const Input& input, const Conv2DOptions& options);
AttrMap convolution_attrs(std::string_view op, const Input& input, const Conv3DOptions& options);
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
