// Cuts a convolution into parts that threads compute independently.
#pragma once

#include <vector>

#include "systole/backends/cpu/kernels/convolution_problem.h"

namespace systole::cpu {

// A convolution of some images, or of some rows of one, and where its image and output begin, in
// bytes. Rows are those of the first spatial axis. Kernel gradients of parts are to be added up.
struct ConvolutionPart {
  ConvolutionProblem problem;
  int64_t image_offset = 0;
  int64_t output_offset = 0;
};

// Returns the floating-point operations of a convolution.
double operations_of(const ConvolutionProblem& problem);

// Returns at most about `count` parts, at least one. They cover the result, or what is added up to
// it. Images are cut into rows where there are fewer images than parts.
std::vector<ConvolutionPart> cut_convolution(const ConvolutionProblem& problem, int64_t count);

}  // namespace systole::cpu
