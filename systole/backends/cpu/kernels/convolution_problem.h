// Maps a convolution instruction to one of oneDNN's three convolutions.
#pragma once

#include <cstdint>
#include <dnnl.hpp>
#include <optional>

#include "systole/hlo/ir/module.h"

namespace systole::cpu {

// A forward convolution or one of its two gradients. The layouts describe the caller's memory, with
// axes in oneDNN's order: batch or group, features, spatial. In all three forms the window is that
// of the forward convolution.
struct ConvolutionProblem {
  enum class Form : uint8_t { forward, input_gradient, kernel_gradient } form;
  dnnl::memory::desc image;
  dnnl::memory::desc kernel;
  dnnl::memory::desc output;
  dnnl::memory::dims strides;
  dnnl::memory::dims dilations;  // 0: none
  dnnl::memory::dims low, high;  // padding
  bool highest = false;          // the precision asked for: plain sums
};

// Returns the high padding for which an axis of `size` elements gives `results` windows. `window`
// is the dilated window size.
inline int64_t high_padding(int64_t size, int64_t window, int64_t stride, int64_t low,
                            int64_t results) {
  return (results - 1) * stride + window - size - low;
}

// Returns whether it is a convolution over two spatial axes, without groups and dilations, of dense
// images that are channels last and whose operands have this type; f32: its result, too.
bool is_plain_convolution(const ConvolutionProblem& problem,
                          dnnl::memory::data_type type = dnnl::memory::data_type::f32);

//   a window reversed along all axes, the input dilated or strides of 1   -> input_gradient
//   a window larger than the result, or batch groups                      -> kernel_gradient
//   any other over an input without holes, the window not reversed        -> forward
// Returns nullopt for other convolutions (see passes/canonicalize_convolutions.h), for types other
// than f32 and bf16, and for negative padding.
std::optional<ConvolutionProblem> convolution_problem(const hlo::Instruction& convolution);

}  // namespace systole::cpu
