#include "systole/backends/cpu/kernels/few_rows_dot.h"

#include <gtest/gtest.h>

#include <vector>

#include "systole/backends/cpu/kernels/panel_product.h"
#include "systole/backends/cpu/testing/run_kernel.h"
#include "systole/base/random.h"

namespace systole::cpu {
namespace {

std::vector<float> few_whole_numbers(int64_t count, uint64_t seed) {
  RandomStream random(seed);
  std::vector<float> numbers(static_cast<size_t>(count));
  for (float& x : numbers) x = static_cast<float>(random.next_below(9)) - 4;
  return numbers;
}

// Columns that fill no vector, a depth that pieces do not divide, both orders of the left operand,
// rows with gaps.
constexpr FewRowsDot kFewRowsDots[] = {
    {1, 700, 321, 700, 1, 321, 321},
    {4, 1001, 1024, 1001, 1, 1030, 1024},
    {3, 513, 47, 1, 3, 47, 50},
    {2, 3, 16, 3, 1, 16, 16},
};

TEST(FewRowsDot, IsThePlainLoops) {
  if (!host_has_avx512()) GTEST_SKIP() << "this host has no AVX-512";
  for (const FewRowsDot& dot : kFewRowsDots) {
    const auto kernel = make_few_rows_kernel(dot);
    ASSERT_NE(kernel, nullptr);
    std::vector<float> lhs = few_whole_numbers(dot.rows * dot.depth, 1);
    std::vector<float> rhs = few_whole_numbers(dot.depth * dot.rhs_row, 2);
    std::vector<float> want(static_cast<size_t>(dot.rows * dot.result_row), 7);
    std::vector<float> got = want;
    for (int64_t i = 0; i < dot.rows; ++i) {
      for (int64_t j = 0; j < dot.columns; ++j) {
        float sum = 0;
        for (int64_t k = 0; k < dot.depth; ++k) {
          sum += lhs[static_cast<size_t>(i * dot.lhs_row + k * dot.lhs_column)] *
                 rhs[static_cast<size_t>(k * dot.rhs_row + j)];
        }
        want[static_cast<size_t>(i * dot.result_row + j)] = sum;
      }
    }
    for (const int threads : {1, 3}) {
      testing::run_kernel(*kernel, std::vector<void*>{lhs.data(), rhs.data(), got.data()}, threads);
      EXPECT_EQ(got, want) << dot.columns << " " << threads;
    }
  }
}

TEST(FewRowsDot, LeavesManyRows) {
  EXPECT_EQ(make_few_rows_kernel({kMaxFewRows + 1, 512, 512, 512, 1, 512, 512}), nullptr);
}

}  // namespace
}  // namespace systole::cpu
