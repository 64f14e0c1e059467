// Convolutions by kernels of this backend and by oneDNN's in parts, against plain loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "systole/backends/cpu/kernels/convolution_parts.h"
#include "systole/backends/cpu/kernels/direct_convolution.h"
#include "systole/backends/cpu/kernels/onednn_convolution.h"
#include "systole/backends/cpu/kernels/panel_product.h"
#include "systole/backends/cpu/kernels/winograd.h"
#include "systole/backends/cpu/testing/convolutions.h"
#include "systole/backends/cpu/testing/run_kernel.h"
#include "systole/base/random.h"

namespace systole::cpu {
namespace {

using testing::DirectLayer;
using testing::Operands;
using testing::problem_of;
using Form = ConvolutionProblem::Form;

void expect_plain_loops(const std::unique_ptr<Kernel>& kernel, const DirectLayer& layer) {
  ASSERT_NE(kernel, nullptr) << layer.window << " " << layer.in;
  Operands want(layer);
  testing::convolve(layer, want);
  for (const int threads : {1, 3}) {
    Operands got(layer);
    std::vector<void*> buffers;
    for (Tensor* t : got.in_order(layer.form)) buffers.push_back(t->raw());
    ThreadPool pool(threads);
    RunContext context;
    context.pool = threads == 1 ? nullptr : &pool;
    for (int i = 0; i < 2; ++i) kernel->run(buffers, context);
    const auto result = got.in_order(layer.form)[2]->data<float>();
    EXPECT_TRUE(std::ranges::equal(result, want.in_order(layer.form)[2]->data<float>()))
        << layer.window << " " << layer.in << " " << threads;
  }
}

constexpr DirectLayer kDirectLayers[] = {
    // One feature; two features, a cut edge, two panels of features and columns that overlap.
    {Form::forward, 8, 1, 14, 14, 32, 5, 1, 2, 14, 14},
    {Form::forward, 9, 2, 33, 51, 64, 3, 2, 0, 16, 25},
    // Three features, one image.
    {Form::forward, 1, 3, 90, 84, 64, 7, 2, 3, 45, 42},
};

TEST(DirectConvolution, IsThePlainLoops) {
  if (!host_has_avx512()) GTEST_SKIP() << "this host has no AVX-512";
  for (const DirectLayer& layer : kDirectLayers)
    expect_plain_loops(make_direct_convolution_kernel(problem_of(layer)), layer);
}

constexpr DirectLayer kOtherLayers[] = {
    // Many features, a cut edge; features that fill no vector.
    {Form::forward, 2, 48, 14, 15, 128, 3, 1, 1, 14, 15},
    {Form::forward, 3, 20, 16, 13, 64, 3, 2, 0, 8, 6},
    {Form::input_gradient, 2, 64, 14, 28, 48, 3, 1, 1, 14, 28},
    {Form::input_gradient, 1, 32, 16, 26, 37, 4, 1, 1, 15, 25},
    {Form::input_gradient, 1, 96, 12, 12, 32, 5, 1, 0, 8, 8},
    {Form::input_gradient, 2, 31, 5, 11, 32, 1, 1, 0, 5, 11},
    // Few features, with and without strides; many.
    {Form::kernel_gradient, 8, 1, 14, 14, 32, 5, 1, 2, 14, 14},
    {Form::kernel_gradient, 17, 3, 21, 21, 64, 7, 2, 3, 11, 11},
    {Form::kernel_gradient, 8, 24, 9, 9, 32, 3, 2, 0, 5, 5},
    {Form::kernel_gradient, 8, 19, 40, 44, 32, 3, 3, 1, 14, 15},
};

TEST(ConvolutionKernel, IsThePlainLoops) {
  for (const DirectLayer& layer : kOtherLayers) {
    EXPECT_EQ(make_direct_convolution_kernel(problem_of(layer)), nullptr);
    expect_plain_loops(make_convolution_kernel(problem_of(layer), false, 3), layer);
  }
}

// By kernels that stay, which are packed: windows of one pixel, in place, with strides, and with
// strides and a padding that make up for each other; a large kernel.
constexpr DirectLayer kKeptLayers[] = {
    {Form::forward, 2, 24, 5, 6, 40, 1, 1, 0, 5, 6},
    {Form::forward, 2, 24, 5, 6, 40, 1, 2, 0, 3, 3},
    {Form::forward, 2, 24, 4, 4, 32, 1, 2, 0, 4, 4},
    {Form::forward, 1, 24, 4, 4, 32, 1, 2, 2, 4, 4},
    {Form::forward, 1, 24, 4, 4, 32, 1, 1, 1, 6, 6},
    {Form::forward, 2, 128, 6, 5, 256, 3, 2, 1, 3, 3},
};

TEST(ConvolutionKernel, IsThePlainLoopsByAKernelThatStays) {
  for (const DirectLayer& layer : kKeptLayers)
    expect_plain_loops(make_convolution_kernel(problem_of(layer), true, 3), layer);
}

// A bias, a residual, a limit.
TEST(DirectConvolution, AppliesItsEpilogue) {
  if (!host_has_avx512()) GTEST_SKIP() << "this host has no AVX-512";
  using Code = EpilogueStep::Code;
  using Operand = EpilogueStep::Operand;
  const DirectLayer& layer = kDirectLayers[2];
  const auto kernel =
      make_direct_convolution_kernel(problem_of(layer), {{Code::add, Operand::columns, 0, 2},
                                                         {Code::add, Operand::elements, 0, 3},
                                                         {Code::maximum, Operand::scalar, 1}});
  ASSERT_NE(kernel, nullptr);
  Operands x(layer);
  Operands others(layer);
  const Tensor& residual = others.output;
  Tensor bias(DType::f32, {layer.out});
  for (int64_t i = 0; i < layer.out; ++i)
    bias.data<float>()[static_cast<size_t>(i)] = static_cast<float>(i % 5);
  Operands want(layer);
  testing::convolve(layer, want);
  const auto sums = want.output.data<float>();
  for (size_t i = 0; i < sums.size(); ++i) {
    const float with_bias = sums[i] + bias.data<float>()[i % static_cast<size_t>(layer.out)];
    sums[i] = std::max(with_bias + residual.data<float>()[i], 1.0F);
  }
  testing::run_kernel(*kernel,
                      std::vector<void*>{x.image.raw(), x.kernel.raw(), bias.raw(),
                                         others.output.raw(), x.output.raw()},
                      3);
  EXPECT_TRUE(x.output.identical(want.output));
}

TEST(DirectConvolution, LeavesWhatOthersDoAsWell) {
  DirectLayer wide{Form::forward, 8, 16, 14, 14, 32, 5, 1, 2, 14, 14};
  EXPECT_EQ(make_direct_convolution_kernel(problem_of(wide)), nullptr);
  DirectLayer one_image{Form::forward, 1, 1, 14, 14, 32, 5, 1, 2, 14, 14};
  EXPECT_EQ(make_direct_convolution_kernel(problem_of(one_image)), nullptr);
  DirectLayer odd_features{Form::forward, 8, 1, 14, 14, 33, 5, 1, 2, 14, 14};
  EXPECT_EQ(make_direct_convolution_kernel(problem_of(odd_features)), nullptr);
}

constexpr DirectLayer kWinogradLayers[] = {
    // Squares that hang over the edges; no padding; a row of zeros around the padding.
    {Form::forward, 2, 48, 13, 15, 64, 3, 1, 1, 13, 15},
    {Form::forward, 1, 32, 16, 17, 32, 3, 1, 0, 14, 15},
    {Form::forward, 1, 64, 11, 12, 96, 3, 1, 2, 13, 14},
    {Form::input_gradient, 2, 64, 13, 15, 48, 3, 1, 1, 13, 15},
    {Form::input_gradient, 1, 32, 16, 17, 64, 3, 1, 0, 14, 15},
};

TEST(Winograd, IsThePlainLoops) {
  if (!host_has_avx512()) GTEST_SKIP() << "this host has no AVX-512";
  for (const DirectLayer& layer : kWinogradLayers) {
    expect_plain_loops(make_winograd_kernel(problem_of(layer), false, 3), layer);
  }
}

TEST(Winograd, LeavesWhatItIsNotFor) {
  const auto made = [](const DirectLayer& layer) {
    return make_winograd_kernel(problem_of(layer), false, 1) != nullptr;
  };
  EXPECT_FALSE(made({Form::kernel_gradient, 2, 64, 14, 14, 64, 3, 1, 1, 14, 14}));
  EXPECT_FALSE(made({Form::forward, 2, 64, 14, 14, 64, 3, 2, 1, 7, 7}));
  EXPECT_FALSE(made({Form::forward, 2, 64, 14, 14, 64, 5, 1, 2, 14, 14}));
  EXPECT_FALSE(made({Form::forward, 2, 40, 14, 14, 64, 3, 1, 1, 14, 14}));
  EXPECT_FALSE(made({Form::forward, 2, 64, 14, 14, 48, 3, 1, 1, 14, 14}));
  // Few squares for a large kernel.
  EXPECT_FALSE(made({Form::forward, 1, 512, 6, 6, 512, 3, 1, 1, 6, 6}));
  ConvolutionProblem highest = problem_of({Form::forward, 2, 64, 14, 14, 64, 3, 1, 1, 14, 14});
  highest.highest = true;
  EXPECT_EQ(make_winograd_kernel(highest, false, 1), nullptr);
}

TEST(Winograd, KeepsTheTransformedKernel) {
  if (!host_has_avx512()) GTEST_SKIP() << "this host has no AVX-512";
  const DirectLayer layer = kWinogradLayers[0];
  const auto kernel = make_winograd_kernel(problem_of(layer), true, 1);
  ASSERT_NE(kernel, nullptr);
  EXPECT_TRUE(kernel->asks_for_versions());
  Operands x(layer);
  std::vector<void*> buffers;
  for (Tensor* t : x.in_order(layer.form)) buffers.push_back(t->raw());
  std::vector<uint64_t> versions = {3, 5, 9};
  const auto run = [&] {
    RunContext context;
    context.arguments = buffers;
    context.versions = versions;
    kernel->run(buffers, context);
    const auto output = x.output.data<float>();
    return std::vector<float>(output.begin(), output.end());
  };
  const std::vector<float> first = run();
  EXPECT_EQ(run(), first);
  for (float& weight : x.kernel.data<float>()) weight *= 2;
  EXPECT_EQ(run(), first);  // its version says that nothing has changed
  versions[1] = 6;
  EXPECT_NE(run(), first);
}

// Any numbers, against sums in f64.
TEST(Winograd, HasTheErrorOfPlainSums) {
  if (!host_has_avx512()) GTEST_SKIP() << "this host has no AVX-512";
  const DirectLayer layer{Form::forward, 1, 128, 16, 16, 32, 3, 1, 0, 14, 14};
  const auto kernel = make_winograd_kernel(problem_of(layer), false, 1);
  ASSERT_NE(kernel, nullptr);
  Operands x(layer);
  RandomStream random(3);
  for (Tensor* t : {&x.image, &x.kernel}) {
    for (float& value : t->data<float>()) value = static_cast<float>(random.next_uniform()) - 0.5F;
  }
  std::vector<void*> buffers;
  for (Tensor* t : x.in_order(layer.form)) buffers.push_back(t->raw());
  RunContext context;
  kernel->run(buffers, context);
  const auto image = x.image.data<float>();
  const auto weights = x.kernel.data<float>();
  const auto output = x.output.data<float>();
  double largest = 0;
  for (int64_t at = 0; at < layer.rows * layer.columns * layer.out; ++at) {
    const int64_t row = at / layer.out / layer.columns;
    const int64_t column = at / layer.out % layer.columns;
    double sum = 0;
    for (int64_t i = 0; i < 9 * layer.in; ++i) {
      const int64_t tap = i / layer.in;
      const int64_t pixel = (row + tap / 3) * layer.width + column + tap % 3;
      sum += static_cast<double>(image[static_cast<size_t>(pixel * layer.in + i % layer.in)]) *
             static_cast<double>(weights[static_cast<size_t>(i * layer.out + at % layer.out)]);
    }
    largest =
        std::max(largest, std::abs(sum - static_cast<double>(output[static_cast<size_t>(at)])));
  }
  EXPECT_LT(largest, 1e-5);  // results are around 3
}

constexpr Form kForms[] = {Form::forward, Form::input_gradient, Form::kernel_gradient};

// One image, which is cut into rows, and several; strides that leave rows out, a window larger than
// a part's rows, and a cut whose last part is short.
constexpr DirectLayer kCutLayers[] = {
    {Form::forward, 1, 32, 17, 16, 64, 3, 1, 1, 17, 16},
    {Form::forward, 1, 16, 33, 30, 48, 5, 2, 2, 17, 15},
    {Form::forward, 1, 24, 40, 40, 64, 2, 3, 0, 13, 13},
    {Form::forward, 1, 16, 12, 40, 32, 9, 1, 4, 12, 40},
    {Form::forward, 5, 32, 14, 14, 64, 3, 1, 1, 14, 14},
    {Form::forward, 2, 32, 14, 14, 64, 7, 2, 3, 7, 7},
};

TEST(ConvolutionParts, MakeUpTheWhole) {
  for (DirectLayer layer : kCutLayers) {
    for (const Form form : kForms) {
      layer.form = form;
      for (const int threads : {1, 2, 8}) {
        expect_plain_loops(make_convolution_kernel(problem_of(layer), false, threads), layer);
      }
    }
  }
}

TEST(ConvolutionParts, AreCutFromImagesThenRows) {
  const auto parts_of = [](const DirectLayer& layer, int64_t count) {
    return cut_convolution(problem_of(layer), count).size();
  };
  EXPECT_EQ(parts_of(kCutLayers[4], 3), 3U);
  EXPECT_EQ(parts_of(kCutLayers[4], 1), 1U);
  EXPECT_EQ(parts_of(kCutLayers[4], 16), 15U);
  EXPECT_EQ(parts_of(kCutLayers[0], 4), 4U);
}

// Sums of any numbers have the same terms in the same order.
TEST(ConvolutionParts, GiveTheSameResultForAnyNumberOfThreads) {
  for (DirectLayer layer : kCutLayers) {
    for (const Form form : kForms) {
      layer.form = form;
      Operands want(layer);
      for (const int threads : {1, 2, 3, 8}) {
        const auto kernel = make_convolution_kernel(problem_of(layer), false, threads);
        ASSERT_NE(kernel, nullptr);
        Operands got(layer);
        RandomStream random(11);
        for (Tensor* t : got.in_order(form)) {
          for (float& x : t->data<float>()) x = static_cast<float>(random.next_uniform()) - 0.3F;
        }
        std::vector<void*> buffers;
        for (Tensor* t : got.in_order(form)) buffers.push_back(t->raw());
        testing::run_kernel(*kernel, buffers, threads);
        if (threads == 1) want = got;
        EXPECT_TRUE(got.in_order(form)[2]->identical(*want.in_order(form)[2]))
            << layer.window << " " << layer.batch << " " << static_cast<int>(form) << " "
            << threads;
      }
    }
  }
}

}  // namespace
}  // namespace systole::cpu
