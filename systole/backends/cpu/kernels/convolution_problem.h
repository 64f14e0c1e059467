// Which of oneDNN's convolutions a convolution instruction is.
#pragma once

#include <cstdint>
#include <dnnl.hpp>
#include <optional>

#include "systole/hlo/ir/module.h"

namespace systole::cpu {

// A convolution, or one of its two gradients. The layouts are the caller's, with the axes in
// oneDNN's order: batch or group, features, spatial; the window is that of the forward convolution
// in all three.
struct ConvolutionProblem {
  enum class Form : uint8_t { forward, input_gradient, kernel_gradient } form;
  dnnl::memory::desc image;
  dnnl::memory::desc kernel;
  dnnl::memory::desc output;
  dnnl::memory::dims strides;
  dnnl::memory::dims dilations;  // 0: none
  dnnl::memory::dims low, high;  // padding
};

// The padding behind an axis of `size` elements that makes so many results of it. `window`: with
// its holes.
inline int64_t high_padding(int64_t size, int64_t window, int64_t stride, int64_t low,
                            int64_t results) {
  return (results - 1) * stride + window - size - low;
}

//   a window reversed along all axes, the input dilated or strides of 1   -> input_gradient
//   a window larger than the result, or batch groups                      -> kernel_gradient
//   any other over an input without holes, the window not reversed        -> forward
// nullopt for what is none of these (see passes/canonicalize_convolutions.h), other types than f32
// and bf16, and padding that cuts off elements.
std::optional<ConvolutionProblem> convolution_problem(const hlo::Instruction& convolution);

}  // namespace systole::cpu
