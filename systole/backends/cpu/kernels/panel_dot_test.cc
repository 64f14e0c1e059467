#include "systole/backends/cpu/kernels/panel_dot.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "systole/backends/cpu/kernels/panel_product.h"
#include "systole/backends/cpu/testing/run_kernel.h"
#include "systole/base/random.h"

namespace systole::cpu {
namespace {

std::vector<float> small_numbers(int64_t count, uint64_t seed) {
  RandomStream random(seed);
  std::vector<float> numbers(static_cast<size_t>(count));
  for (float& x : numbers) x = static_cast<float>(random.next_below(9)) - 4;
  return numbers;
}

// Every other column of every other line of an image, in lines of 7.
int64_t skipping_place(int64_t row) { return row / 7 * 2 * 14 * 65 + row % 7 * 2 * 65; }

int64_t lhs_place(const PanelDot& dot, int64_t row) {
  return dot.copy_rows == nullptr ? row * dot.row_step : skipping_place(row);
}

std::vector<float> multiply(const PanelDot& dot, const std::vector<float>& lhs,
                            const std::vector<float>& rhs) {
  std::vector<float> result(static_cast<size_t>(dot.rows * dot.result_row), 7);
  for (int64_t i = 0; i < dot.rows; ++i) {
    for (int64_t j = 0; j < dot.columns; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < dot.depth; ++k) {
        sum += lhs[static_cast<size_t>(lhs_place(dot, i) + k)] *
               rhs[static_cast<size_t>(k * dot.rhs_row + j * dot.rhs_column)];
      }
      result[static_cast<size_t>(i * dot.result_row + j)] = sum;
    }
  }
  return result;
}

const PanelDot kPanelDots[] = {
    // Columns that fill no panel, a matrix that is transposed, a result with gaps.
    {37, 100, 70, 100, 1, 100, 81},
    // Rows that lie in the same sets of a cache; many panels.
    {49, 1024, 512, 1024, 512, 1, 512},
    {42, 65, 32, 0, 32, 1, 32,
     [](const void* lhs, int64_t first, int64_t count, float* to, int64_t to_step) {
       for (int64_t i = 0; i < count; ++i)
         std::copy_n(static_cast<const float*>(lhs) + skipping_place(first + i), 65,
                     to + i * to_step);
     }},
    {500, 64, 64, 64, 64, 1, 64},
    // Rows of the result that lie in the same sets; an odd number of panels; one that is not full.
    {33, 20, 1536, 20, 1536, 1, 1536},
    {16, 20, 1000, 20, 1000, 1, 1024},
    {5, 33, 24, 40, 24, 1, 24},
    {1, 600, 96, 600, 96, 1, 96},
};

TEST(PanelDot, IsThePlainLoops) {
  if (!host_has_avx512()) GTEST_SKIP() << "this host has no AVX-512";
  for (const PanelDot& dot : kPanelDots) {
    std::vector<float> lhs = small_numbers(lhs_place(dot, dot.rows - 1) + dot.depth, 1);
    std::vector<float> rhs =
        small_numbers((dot.depth - 1) * dot.rhs_row + (dot.columns - 1) * dot.rhs_column + 1, 2);
    const std::vector<float> want = multiply(dot, lhs, rhs);
    for (const int threads : {1, 3}) {
      const auto kernel = make_panel_dot_kernel(dot, false, threads);
      ASSERT_NE(kernel, nullptr);
      std::vector<float> got(want.size(), 7);
      testing::run_kernel(*kernel, std::vector<void*>{lhs.data(), rhs.data(), got.data()}, threads);
      EXPECT_EQ(got, want) << dot.columns << " " << threads;
    }
  }
}

// All steps, on rows and columns that fill no vectors.
TEST(PanelDot, AppliesItsEpilogue) {
  if (!host_has_avx512()) GTEST_SKIP() << "this host has no AVX-512";
  using Code = EpilogueStep::Code;
  using Operand = EpilogueStep::Operand;
  const PanelDot dot{19, 40, 41, 40, 41, 1, 41};
  const Epilogue epilogue = {
      {Code::add, Operand::columns, 0, 2},           {Code::multiply, Operand::scalar, 3},
      {Code::subtract, Operand::elements, 0, 3},     {Code::maximum, Operand::scalar, -50},
      {Code::subtract_from, Operand::columns, 0, 2}, {Code::minimum, Operand::elements, 0, 3}};
  const auto kernel = make_panel_dot_kernel(dot, false, 2, epilogue);
  ASSERT_NE(kernel, nullptr);
  std::vector<float> lhs = small_numbers(dot.rows * dot.depth, 1);
  std::vector<float> rhs = small_numbers(dot.depth * dot.columns, 2);
  std::vector<float> columns = small_numbers(dot.columns, 3);
  std::vector<float> elements = small_numbers(dot.rows * dot.columns, 4);
  std::vector<float> want = multiply(dot, lhs, rhs);
  for (size_t i = 0; i < want.size(); ++i) {
    const float column = columns[i % static_cast<size_t>(dot.columns)];
    const float limited = std::max((want[i] + column) * 3 - elements[i], -50.0F);
    want[i] = std::min(column - limited, elements[i]);
  }
  std::vector<float> got(want.size());
  const std::vector<void*> buffers = {lhs.data(), rhs.data(), columns.data(), elements.data(),
                                      got.data()};
  RunContext context;
  kernel->run(buffers, context);
  EXPECT_EQ(got, want);
}

// The larger of both, or the smaller: NaN if one of them is, and -0 below +0.
float limit_of(EpilogueStep::Code code, float a, float b) {
  const bool maximum = code == EpilogueStep::Code::maximum;
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<float>::quiet_NaN();
  if (a == b) return std::signbit(a) == maximum ? b : a;
  return maximum ? std::max(a, b) : std::min(a, b);
}

TEST(PanelDot, LimitsNaNsAndZeros) {
  if (!host_has_avx512()) GTEST_SKIP() << "this host has no AVX-512";
  using Code = EpilogueStep::Code;
  using Operand = EpilogueStep::Operand;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> values = {
      std::numeric_limits<float>::quiet_NaN(), -0.0F, 0.0F, 1, -1, kInfinity, -kInfinity};
  std::vector<float> ones(14, 1);
  std::vector<float> signs(14, 1);  // a sum of products has no zero below 0
  std::fill(signs.begin() + 7, signs.end(), -1.0F);
  std::vector<float> limits;
  for (size_t i = 0; i < values.size() * ones.size(); ++i) limits.push_back(values[i % 7]);
  for (const Code code : {Code::maximum, Code::minimum}) {
    const Epilogue epilogue = {{Code::multiply, Operand::columns, 0, 2},
                               {code, Operand::elements, 0, 3}};
    const auto kernel = make_panel_dot_kernel({7, 1, 14, 1, 14, 1, 14}, false, 1, epilogue);
    ASSERT_NE(kernel, nullptr);
    std::vector<float> got(limits.size());
    testing::run_kernel(
        *kernel,
        std::vector<void*>{values.data(), ones.data(), signs.data(), limits.data(), got.data()}, 1);
    for (size_t i = 0; i < got.size(); ++i) {
      const float product = (values[i / 14] + 0.0F) * signs[i % 14];
      const float want = limit_of(code, product, limits[i]);
      EXPECT_TRUE(std::isnan(want) ? std::isnan(got[i])
                                   : got[i] == want && std::signbit(got[i]) == std::signbit(want))
          << product << " " << limits[i] << ": " << got[i];
    }
  }
}

// A normalisation, a residual and limits, which is one multiplication and addition, a sum and
// limits.
TEST(PanelDot, JoinsStepsOfColumns) {
  if (!host_has_avx512()) GTEST_SKIP() << "this host has no AVX-512";
  using Code = EpilogueStep::Code;
  using Operand = EpilogueStep::Operand;
  const PanelDot dot{31, 40, 41, 40, 41, 1, 41};
  const Epilogue epilogue = {
      {Code::subtract, Operand::columns, 0, 2},  {Code::multiply, Operand::columns, 0, 3},
      {Code::subtract_from, Operand::scalar, 5}, {Code::add, Operand::columns, 0, 2},
      {Code::add, Operand::elements, 0, 4},      {Code::maximum, Operand::scalar, -20},
      {Code::minimum, Operand::scalar, 90}};
  const auto kernel = make_panel_dot_kernel(dot, false, 2, epilogue);
  ASSERT_NE(kernel, nullptr);
  std::vector<float> lhs = small_numbers(dot.rows * dot.depth, 1);
  std::vector<float> rhs = small_numbers(dot.depth * dot.columns, 2);
  std::vector<float> mean = small_numbers(dot.columns, 3);
  std::vector<float> scale = small_numbers(dot.columns, 4);
  std::vector<float> residual = small_numbers(dot.rows * dot.columns, 5);
  std::vector<float> want = multiply(dot, lhs, rhs);
  for (size_t i = 0; i < want.size(); ++i) {
    const size_t column = i % static_cast<size_t>(dot.columns);
    const float x = 5 - (want[i] - mean[column]) * scale[column] + mean[column] + residual[i];
    want[i] = std::min(std::max(x, -20.0F), 90.0F);
  }
  std::vector<float> got(want.size());
  const std::vector<void*> buffers = {lhs.data(),   rhs.data(),      mean.data(),
                                      scale.data(), residual.data(), got.data()};
  RunContext context;
  kernel->run(buffers, context);
  EXPECT_EQ(got, want);
}

TEST(PanelDot, KeepsThePackedMatrix) {
  if (!host_has_avx512()) GTEST_SKIP() << "this host has no AVX-512";
  const PanelDot& dot = kPanelDots[3];
  const auto kernel = make_panel_dot_kernel(dot, true, 1);
  ASSERT_NE(kernel, nullptr);
  EXPECT_TRUE(kernel->asks_for_versions());
  std::vector<float> lhs = small_numbers(dot.rows * dot.depth, 1);
  std::vector<float> rhs = small_numbers(dot.depth * dot.columns, 2);
  std::vector<float> got(static_cast<size_t>(dot.rows * dot.columns));
  const std::vector<void*> buffers = {lhs.data(), rhs.data(), got.data()};
  std::vector<uint64_t> versions = {3, 5, 9};
  const auto run = [&] {
    RunContext context;
    context.arguments = buffers;
    context.versions = versions;
    kernel->run(buffers, context);
    return got;
  };
  const std::vector<float> want = multiply(dot, lhs, rhs);
  EXPECT_EQ(run(), want);
  EXPECT_EQ(run(), want);
  for (float& x : rhs) x += 1;
  EXPECT_EQ(run(), want);  // its version says that nothing has changed
  versions[1] = 6;
  EXPECT_EQ(run(), multiply(dot, lhs, rhs));
}

}  // namespace
}  // namespace systole::cpu
