// Kernels read and write nothing behind their operands, whose ends here are those of the memory.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

#include "systole/backends/cpu/kernels/convolution_problem.h"
#include "systole/backends/cpu/kernels/few_rows_dot.h"
#include "systole/backends/cpu/kernels/onednn_convolution.h"
#include "systole/backends/cpu/kernels/panel_dot.h"
#include "systole/backends/cpu/kernels/panel_product.h"
#include "systole/backends/cpu/kernels/row_dot.h"
#include "systole/backends/cpu/testing/compare.h"
#include "systole/backends/cpu/testing/guarded_tensor.h"
#include "systole/backends/cpu/testing/run_kernel.h"
#include "systole/stablehlo/text/text.h"

namespace systole::cpu {
namespace {

using testing::GuardedTensor;

// `operands` ends with the result; `numbers` are buffers that are no arrays.
void expect_kept_ends(const Kernel& kernel, std::vector<Tensor> operands,
                      const std::vector<void*>& numbers = {}) {
  for (const int threads : {1, 3}) {
    std::vector<std::unique_ptr<GuardedTensor>> guarded;
    std::vector<void*> ends;
    for (const Tensor& operand : operands) {
      guarded.push_back(std::make_unique<GuardedTensor>(operand));
      ends.push_back(guarded.back()->data());
    }
    std::vector<void*> plain;
    for (Tensor& operand : operands) plain.push_back(operand.raw());
    for (std::vector<void*>* buffers : {&ends, &plain}) {
      buffers->insert(buffers->end(), numbers.begin(), numbers.end());
      testing::run_kernel(kernel, *buffers, threads);
    }
    EXPECT_TRUE(guarded.back()->same(operands.back())) << threads;
  }
}

Tensor guarded_numbers(RandomStream& random, Shape shape, DType dtype = DType::f32) {
  return testing::random_tensor(random, {dtype, std::move(shape)}, -1, 1);
}

TEST(OperandEnds, AreKeptByPanels) {
  if (!host_has_avx512()) GTEST_SKIP() << "this host has no AVX-512";
  RandomStream random(81);
  struct Case {
    int64_t rows, depth, columns;
    bool transposed;
  };
  using Step = EpilogueStep;
  const Epilogue epilogue = {{Step::Code::add, Step::Operand::columns, 0, 2},
                             {Step::Code::subtract, Step::Operand::elements, 0, 3},
                             {Step::Code::maximum, Step::Operand::scalar, 0.1F}};
  for (const Case& c : {Case{1, 1, 1, false}, Case{3, 17, 41, false}, Case{29, 33, 33, true},
                        Case{15, 1024, 24, true}, Case{64, 47, 100, false}}) {
    const PanelDot dot{.rows = c.rows,
                       .depth = c.depth,
                       .columns = c.columns,
                       .row_step = c.depth,
                       .rhs_row = c.transposed ? 1 : c.columns,
                       .rhs_column = c.transposed ? c.depth : 1,
                       .result_row = c.columns};
    const std::vector<Tensor> operands = {
        guarded_numbers(random, {c.rows, c.depth}), guarded_numbers(random, {c.depth, c.columns}),
        guarded_numbers(random, {c.columns}), guarded_numbers(random, {c.rows, c.columns}),
        guarded_numbers(random, {c.rows, c.columns})};
    expect_kept_ends(*make_panel_dot_kernel(dot, false, 3, epilogue), operands);
  }
}

TEST(OperandEnds, AreKeptByFewRows) {
  if (!host_has_avx512()) GTEST_SKIP() << "this host has no AVX-512";
  RandomStream random(82);
  for (const int64_t columns : {1, 15, 16, 321}) {
    for (const int64_t depth : {1, 7, 701}) {
      const FewRowsDot dot{kMaxFewRows, depth, columns, depth, 1, columns, columns};
      expect_kept_ends(
          *make_few_rows_kernel(dot),
          {guarded_numbers(random, {kMaxFewRows, depth}), guarded_numbers(random, {depth, columns}),
           guarded_numbers(random, {kMaxFewRows, columns})});
    }
  }
}

// Batches of matrices [rows, depth] by [depth, columns] or, transposed, [columns, depth].
constexpr const char* kGuardedBatchDot =
    R"(func.func public @main(%x: tensor<2x{0}x{1}x{5}>, %y: tensor<2x{3}x{4}x{5}>) -> tensor<2x{0}x{2}x{5}> {{
      %r = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [{6}] : (tensor<2x{0}x{1}x{5}>, tensor<2x{3}x{4}x{5}>) -> tensor<2x{0}x{2}x{5}>
      return %r : tensor<2x{0}x{2}x{5}>
    }})";

TEST(OperandEnds, AreKeptByRowsOfBatches) {
  RandomStream random(83);
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const auto& [rows, depth, columns] :
         {std::array<int64_t, 3>{9, 8, 33}, {30, 18, 64}, {16, 9, 8}, {21, 64, 40}}) {
      for (const bool transposed : {false, true}) {
        const auto module = hlo::parse(fmt::format(
            fmt::runtime(kGuardedBatchDot), rows, depth, columns, transposed ? columns : depth,
            transposed ? depth : columns, to_string(dtype), transposed ? 2 : 1));
        const hlo::Instruction& dot = *module->entry().results()[0].def;
        ASSERT_TRUE(row_dot(dot)) << rows;
        const Shape rhs = transposed ? Shape{2, columns, depth} : Shape{2, depth, columns};
        const auto end = reinterpret_cast<void*>(2 * rows);
        expect_kept_ends(
            *make_row_dot_kernel(dot, false),
            {guarded_numbers(random, {2, rows, depth}, dtype), guarded_numbers(random, rhs, dtype),
             guarded_numbers(random, {2, rows, columns}, dtype)},
            {nullptr, end});
      }
    }
  }
}

// Windows of 1 and 3 pixels, of which one is transformed, and some are copied.
struct GuardedLayer {
  int64_t images, side, in, out, window, stride, low, results;
};
constexpr GuardedLayer kGuardedLayers[] = {
    {1, 9, 32, 32, 3, 1, 1, 9},  {2, 8, 48, 64, 3, 1, 0, 6},  {1, 5, 40, 33, 1, 1, 0, 5},
    {2, 4, 24, 32, 1, 2, 0, 4},  {1, 7, 17, 40, 1, 2, 0, 4},  {1, 6, 256, 128, 3, 2, 1, 3},
    {8, 14, 1, 32, 5, 1, 2, 14}, {9, 33, 2, 32, 3, 2, 0, 16},
};

dnnl::memory::desc guarded_images(int64_t images, int64_t features, int64_t side) {
  return {{images, features, side, side},
          dnnl::memory::data_type::f32,
          dnnl::memory::dims{side * side * features, 1, side * features, features}};
}

TEST(OperandEnds, AreKeptByConvolutions) {
  if (!host_has_avx512()) GTEST_SKIP() << "this host has no AVX-512";
  RandomStream random(84);
  for (const GuardedLayer& l : kGuardedLayers) {
    const int64_t high = (l.results - 1) * l.stride + l.window - l.side - l.low;
    const ConvolutionProblem problem{
        .form = ConvolutionProblem::Form::forward,
        .image = guarded_images(l.images, l.in, l.side),
        .kernel = {{l.out, l.in, l.window, l.window},
                   dnnl::memory::data_type::f32,
                   dnnl::memory::dims{1, l.out, l.window * l.in * l.out, l.in * l.out}},
        .output = guarded_images(l.images, l.out, l.results),
        .strides = {l.stride, l.stride},
        .dilations = {0, 0},
        .low = {l.low, l.low},
        .high = {high, high}};
    const auto kernel = make_convolution_kernel(problem, true, 3);
    ASSERT_NE(kernel, nullptr);
    expect_kept_ends(*kernel, {guarded_numbers(random, {l.images, l.side, l.side, l.in}),
                               guarded_numbers(random, {l.window, l.window, l.in, l.out}),
                               guarded_numbers(random, {l.images, l.results, l.results, l.out})});
  }
}

}  // namespace
}  // namespace systole::cpu
