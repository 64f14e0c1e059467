#include "systole/backends/cpu/kernels/window_dot.h"

#include <gtest/gtest.h>

#include "systole/backends/cpu/kernels/onednn.h"
#include "systole/backends/cpu/kernels/onednn_convolution.h"
#include "systole/backends/cpu/kernels/panel_product.h"
#include "systole/backends/cpu/testing/convolutions.h"
#include "systole/backends/cpu/testing/run_kernel.h"
#include "systole/base/float16.h"

namespace systole::cpu {
namespace {

using testing::DirectLayer;
using testing::Operands;
using testing::problem_of;

constexpr auto kBf16 = dnnl::memory::data_type::bf16;

Tensor rounded(const Tensor& from) {
  Tensor to(DType::bf16, from.shape());
  const auto elements = from.data<float>();
  for (size_t i = 0; i < elements.size(); ++i) to.data<bfloat16>()[i] = elements[i];
  return to;
}

// The result is the plain loops', rounded once.
void expect_rounded_loops(const Kernel& kernel, const DirectLayer& layer) {
  Operands want(layer);
  testing::convolve(layer, want);
  for (const int threads : {1, 3}) {
    Operands got(layer);
    std::vector<Tensor> arrays;
    for (const Tensor* t : got.in_order(layer.form)) arrays.push_back(rounded(*t));
    const std::vector<void*> buffers = {arrays[0].raw(), arrays[1].raw(), arrays[2].raw()};
    for (int i = 0; i < 2; ++i) testing::run_kernel(kernel, buffers, threads);
    EXPECT_TRUE(arrays[2].identical(rounded(*want.in_order(layer.form)[2])))
        << layer.window << " " << layer.in << " " << threads;
  }
}

constexpr DirectLayer kGradients[] = {
    // Windows of one pixel, with and without strides; of several, with cut edges. Pixels and
    // features that fill no vectors and panels.
    {ConvolutionProblem::Form::kernel_gradient, 6, 128, 7, 7, 130, 1, 1, 0, 7, 7},
    {ConvolutionProblem::Form::kernel_gradient, 2, 512, 9, 8, 34, 1, 2, 0, 5, 4},
    {ConvolutionProblem::Form::kernel_gradient, 10, 96, 5, 7, 174, 3, 1, 1, 5, 7},
    {ConvolutionProblem::Form::kernel_gradient, 3, 272, 7, 8, 64, 3, 2, 1, 4, 4},
};

TEST(WindowDot, RoundsThePlainLoopsOnce) {
  if (!host_has_avx512() || !host_multiplies_bf16()) GTEST_SKIP() << "this host has no bf16";
  for (const DirectLayer& layer : kGradients) {
    const auto kernel = make_window_dot_kernel(problem_of(layer, kBf16), false, 3);
    ASSERT_NE(kernel, nullptr) << layer.window << " " << layer.in;
    expect_rounded_loops(*kernel, layer);
  }
}

// A gradient of bf16 whose result is f32.
TEST(WindowDot, LeavesSumsUnrounded) {
  if (!host_has_avx512() || !host_multiplies_bf16()) GTEST_SKIP() << "this host has no bf16";
  const DirectLayer& layer = kGradients[2];
  ConvolutionProblem problem = problem_of(layer, kBf16);
  problem.kernel = problem_of(layer).kernel;
  const auto kernel = make_window_dot_kernel(problem, false, 2);
  ASSERT_NE(kernel, nullptr);
  Operands want(layer);
  testing::convolve(layer, want);
  Operands got(layer);
  Tensor image = rounded(got.image);
  Tensor output = rounded(got.output);
  testing::run_kernel(*kernel, std::vector<void*>{image.raw(), output.raw(), got.kernel.raw()}, 2);
  EXPECT_TRUE(got.kernel.identical(want.kernel));
}

void expect_windows(const DirectLayer& layer, bool keeps_kernel) {
  const auto kernel = make_window_dot_kernel(problem_of(layer), keeps_kernel, 3);
  ASSERT_NE(kernel, nullptr) << layer.window << " " << layer.in;
  Operands want(layer);
  testing::convolve(layer, want);
  for (const int threads : {1, 3}) {
    Operands got(layer);
    std::vector<void*> buffers;
    for (Tensor* t : got.in_order(layer.form)) buffers.push_back(t->raw());
    testing::run_kernel(*kernel, buffers, threads);
    EXPECT_TRUE(got.in_order(layer.form)[2]->identical(*want.in_order(layer.form)[2]))
        << layer.window << " " << threads;
  }
}

TEST(WindowDot, IsThePlainLoopsOfGradients) {
  if (!host_has_avx512()) GTEST_SKIP() << "this host has no AVX-512";
  for (const DirectLayer& layer : kGradients) expect_windows(layer, false);
  expect_windows({ConvolutionProblem::Form::kernel_gradient, 3, 128, 7, 7, 129, 1, 1, 0, 7, 7},
                 false);  // odd sizes
}

TEST(WindowDot, IsThePlainLoopsOfFewPixels) {
  if (!host_has_avx512()) GTEST_SKIP() << "this host has no AVX-512";
  expect_windows({ConvolutionProblem::Form::forward, 3, 256, 7, 7, 257, 1, 1, 0, 7, 7}, false);
  expect_windows({ConvolutionProblem::Form::forward, 8, 260, 7, 7, 256, 1, 2, 0, 4, 4}, false);
  expect_windows({ConvolutionProblem::Form::input_gradient, 3, 257, 6, 8, 256, 1, 1, 0, 6, 8},
                 false);
}

TEST(WindowDot, LeavesWhatItIsNotFor) {
  const auto made = [](const DirectLayer& layer, dnnl::memory::data_type type) {
    return make_window_dot_kernel(problem_of(layer, type), true, 1) != nullptr;
  };
  const auto f32 = dnnl::memory::data_type::f32;
  EXPECT_FALSE(
      made({ConvolutionProblem::Form::input_gradient, 8, 256, 14, 14, 256, 1, 1, 0, 14, 14}, f32));
  EXPECT_FALSE(
      made({ConvolutionProblem::Form::input_gradient, 8, 256, 7, 7, 256, 1, 2, 0, 4, 4}, f32));
  EXPECT_FALSE(made({ConvolutionProblem::Form::forward, 8, 256, 7, 7, 64, 1, 1, 0, 7, 7}, kBf16));
  EXPECT_FALSE(
      made({ConvolutionProblem::Form::kernel_gradient, 8, 250, 7, 7, 256, 1, 1, 0, 7, 7}, f32));
  EXPECT_FALSE(
      made({ConvolutionProblem::Form::kernel_gradient, 8, 64, 7, 7, 64, 1, 1, 0, 7, 7}, f32));
  EXPECT_FALSE(
      made({ConvolutionProblem::Form::kernel_gradient, 8, 256, 56, 56, 256, 1, 1, 0, 56, 56}, f32));
  EXPECT_FALSE(made({ConvolutionProblem::Form::kernel_gradient, 3, 256, 7, 7, 256, 1, 1, 0, 7, 7},
                    kBf16));  // odd
}

constexpr DirectLayer kKeptWindows[] = {
    {ConvolutionProblem::Form::forward, 2, 64, 14, 15, 48, 1, 1, 0, 14, 15},
    {ConvolutionProblem::Form::forward, 2, 32, 14, 15, 64, 3, 2, 1, 7, 8},
    {ConvolutionProblem::Form::forward, 1, 160, 9, 7, 192, 3, 1, 1, 9, 7},
};

TEST(WindowDot, IsThePlainLoopsOfKeptKernels) {
  if (!host_has_avx512()) GTEST_SKIP() << "this host has no AVX-512";
  for (const DirectLayer& layer : kKeptWindows) expect_windows(layer, true);
}

}  // namespace
}  // namespace systole::cpu
