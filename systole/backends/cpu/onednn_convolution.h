// convolution through oneDNN: forward, and the forms that the gradients of a layer produce.
#pragma once

#include <memory>

#include "systole/backends/cpu/onednn_primitive.h"
#include "systole/hlo/attrs.h"

namespace systole::cpu {

// A primitive for this convolution on row-major operands; execute({lhs, rhs, result}).
//   plain                                        -> convolution_forward
//   reversed windows (and dilated lhs)           -> convolution_backward_data: the gradient by a layer's input
//   kernel larger than the result (dilated rhs)  -> convolution_backward_weights: the gradient by a layer's filter
// Null for what is none of these (a dilated lhs with windows not reversed, negative padding, ...) or another dtype than f32
// and bf16.
std::unique_ptr<OnednnPrimitive> make_onednn_convolution(const hlo::ConvolutionAttrs& attrs, const TensorType& lhs,
                                                         const TensorType& rhs, const TensorType& result,
                                                         int threads);

}  // namespace systole::cpu
