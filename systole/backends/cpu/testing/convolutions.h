// Convolutions over square windows and their gradients by plain loops.
#pragma once

#include <algorithm>
#include <cstdint>
#include <dnnl.hpp>
#include <vector>

#include "systole/backends/cpu/kernels/convolution_problem.h"
#include "systole/base/random.h"
#include "systole/base/tensor.h"

namespace systole::cpu::testing {

// A layer over images of `height` by `width`, its window shifted by `low`.
struct DirectLayer {
  ConvolutionProblem::Form form;
  int64_t batch, in, height, width, out, window, stride, low, rows, columns;
};

// Returns the descriptor of dense images: logical axes [batch, features, rows, columns], in memory
// [batch, rows, columns, features].
inline dnnl::memory::desc images(dnnl::memory::data_type type, int64_t batch, int64_t features,
                                 int64_t rows, int64_t columns) {
  return {{batch, features, rows, columns},
          type,
          dnnl::memory::dims{rows * columns * features, 1, columns * features, features}};
}

// All arrays have this type.
inline ConvolutionProblem problem_of(const DirectLayer& l,
                                     dnnl::memory::data_type type = dnnl::memory::data_type::f32) {
  const auto high = [&](int64_t size, int64_t result) {
    return (result - 1) * l.stride + l.window - size - l.low;
  };
  return {.form = l.form,
          .image = images(type, l.batch, l.in, l.height, l.width),
          .kernel = {{l.out, l.in, l.window, l.window},
                     type,
                     dnnl::memory::dims{1, l.out, l.window * l.in * l.out, l.in * l.out}},
          .output = images(type, l.batch, l.out, l.rows, l.columns),
          .strides = {l.stride, l.stride},
          .dilations = {0, 0},
          .low = {l.low, l.low},
          .high = {high(l.height, l.rows), high(l.width, l.columns)}};
}

// The images, the kernel and the output: dense, in this order of axes.
struct Operands {
  explicit Operands(const DirectLayer& l)
      : image(DType::f32, {l.batch, l.height, l.width, l.in}),
        kernel(DType::f32, {l.window, l.window, l.in, l.out}),
        output(DType::f32, {l.batch, l.rows, l.columns, l.out}) {
    RandomStream random(7);
    for (Tensor* t : {&image, &kernel, &output}) {
      for (float& x : t->data<float>()) x = static_cast<float>(random.next_below(9)) - 4;
    }
  }
  Tensor image, kernel, output;

  // In the order of a kernel's buffers, the result last.
  std::vector<Tensor*> in_order(ConvolutionProblem::Form form) {
    using Form = ConvolutionProblem::Form;
    if (form == Form::forward) return {&image, &kernel, &output};
    if (form == Form::input_gradient) return {&output, &kernel, &image};
    return {&image, &output, &kernel};
  }
};

// Small whole numbers: sums are exact in any order.
inline void convolve(const DirectLayer& l, Operands& x) {
  using Form = ConvolutionProblem::Form;
  const auto result = x.in_order(l.form)[2]->data<float>();
  std::ranges::fill(result, 0.0F);
  const auto image = x.image.data<float>();
  const auto kernel = x.kernel.data<float>();
  const auto output = x.output.data<float>();
  for (int64_t place = 0; place < l.batch * l.rows * l.columns; ++place) {
    const int64_t n = place / l.columns / l.rows;
    for (int64_t tap = 0; tap < l.window * l.window; ++tap) {
      const int64_t row = place / l.columns % l.rows * l.stride + tap / l.window - l.low;
      const int64_t column = place % l.columns * l.stride + tap % l.window - l.low;
      if (row < 0 || row >= l.height || column < 0 || column >= l.width) continue;
      for (int64_t i = 0; i < l.in; ++i) {
        float& pixel =
            image[static_cast<size_t>(((n * l.height + row) * l.width + column) * l.in + i)];
        for (int64_t o = 0; o < l.out; ++o) {
          float& weight = kernel[(tap * l.in + i) * l.out + o];
          float& sum = output[place * l.out + o];
          if (l.form == Form::forward) {
            sum += pixel * weight;
          } else if (l.form == Form::input_gradient) {
            pixel += sum * weight;
          } else {
            weight += pixel * sum;
          }
        }
      }
    }
  }
}

}  // namespace systole::cpu::testing
