#include "systole/backends/cpu/kernels/direct_convolution.h"

#include <algorithm>

#include "systole/backends/cpu/kernels/direct_forward.h"
#include "systole/backends/cpu/kernels/direct_gradient.h"

namespace systole::cpu {
namespace {

constexpr int64_t kMinImages = 8;

// Threads share images: there have to be some for each.
bool has_work_for_all(const ConvolutionProblem& p, const DirectSizes& s, int num_threads) {
  const bool in_parts = p.form == ConvolutionProblem::Form::kernel_gradient;
  return s.batch >= std::max<int64_t>(kMinImages, num_threads) &&
         (!in_parts || num_threads <= kMaxGradientParts);
}

// Measured: how often one is as fast as oneDNN's code for channels-last images, in brackets.
bool is_faster(const ConvolutionProblem& p, const DirectSizes& s) {
  const bool is_point = s.kernel_height * s.kernel_width == 1;
  switch (p.form) {
    case ConvolutionProblem::Form::forward:
      // Sums of one feature leave oneDNN's matrix products almost nothing to do (1.5).
      return s.features <= 2 && fits_direct_forward(s);
    case ConvolutionProblem::Form::kernel_gradient:
      // Images of few features (1.2), and strides (1.4).
      return !is_point && (s.features <= 4 || s.row_stride * s.column_stride > 1) &&
             fits_direct_gradient(s);
    default:
      // oneDNN's forward convolution of a mirrored kernel is where packing pays
      // (packed_convolution.h), elsewhere its own code.
      return false;
  }
}

}  // namespace

std::unique_ptr<Kernel> make_direct_convolution_kernel(const ConvolutionProblem& problem,
                                                       int num_threads) {
  const std::optional<DirectSizes> sizes = direct_sizes(problem);
  if (!host_has_direct_kernels() || !sizes || !has_work_for_all(problem, *sizes, num_threads) ||
      !is_faster(problem, *sizes))
    return nullptr;
  return problem.form == ConvolutionProblem::Form::kernel_gradient
             ? make_direct_gradient_kernel(*sizes)
             : make_direct_forward_kernel(*sizes);
}

}  // namespace systole::cpu
