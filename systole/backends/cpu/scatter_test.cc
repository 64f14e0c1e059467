#include <gtest/gtest.h>

#include "systole/backends/cpu/testing/compare.h"

namespace systole::cpu {
namespace {

using hlo::Opcode;
using hlo::testing::OpUnderTest;

// Rows of `width` into a table, enough of them for several threads; some lie outside of it.
OpUnderTest row_scatter(RandomStream& random, int64_t rows, int64_t updates, int64_t width,
                        Opcode combine) {
  return {.opcode = Opcode::scatter,
          .operands = {testing::random_tensor(random, {DType::f32, {rows, width}}, -2, 2),
                       testing::random_tensor(random, {DType::s32, {updates}}, -1,
                                              static_cast<double>(rows + 1)),
                       testing::random_tensor(random, {DType::f32, {updates, width}}, -2, 2)},
          .attrs = hlo::ScatterAttrs{.update_window_dims = {1},
                                     .inserted_window_dims = {0},
                                     .scatter_dims_to_operand_dims = {0},
                                     .index_vector_dim = 1},
          .fill_regions = [=](hlo::Instruction& x) {
            hlo::fill_reducer(x.add_region(), combine, DType::f32);
          }};
}

// Sums are in the order of the updates: exact.
TEST(Scatter, AddsRowsThatCollide) {
  RandomStream random(41);
  EXPECT_EQ(testing::check(row_scatter(random, 50, 3000, 32, Opcode::add)), "");
  EXPECT_EQ(testing::check(row_scatter(random, 3, 3000, 17, Opcode::add)), "");
  EXPECT_EQ(testing::check(row_scatter(random, 2000, 3000, 16, Opcode::multiply)), "");
}

TEST(Scatter, TakesTheLastUpdateOfAPlace) {
  RandomStream random(42);
  OpUnderTest op = row_scatter(random, 40, 3000, 32, Opcode::add);
  op.fill_regions = [](hlo::Instruction& x) {
    hlo::Computation& region = x.add_region();
    region.add_parameter({DType::f32, {}});
    region.set_results({region.add_parameter({DType::f32, {}})});
  };
  EXPECT_EQ(testing::check(op), "");
}

TEST(Scatter, GivesTheSameForAnyNumberOfThreads) {
  RandomStream random(43);
  const OpUnderTest op = row_scatter(random, 100, 5000, 24, Opcode::add);
  hlo::Module module;
  hlo::testing::build_op(module.add_function("main"), op);
  const auto want = testing::run(module, op.operands, {.num_threads = 1});
  for (const int threads : {2, 3, 5, 8}) {
    const auto got = testing::run(module, op.operands, {.num_threads = threads});
    EXPECT_TRUE(got[0].identical(want[0])) << threads;
  }
}

// Windows that lie half outside, at two-dimensional places: columns divide the work.
TEST(Scatter, CutsWindowsAtTheBorder) {
  RandomStream random(44);
  EXPECT_EQ(testing::check(
                {.opcode = Opcode::scatter,
                 .operands = {testing::random_tensor(random, {DType::f32, {20, 30, 9}}, -2, 2),
                              testing::random_tensor(random, {DType::s64, {900, 2}}, -4, 32),
                              testing::random_tensor(random, {DType::f32, {900, 5, 9}}, -2, 2)},
                 .attrs = hlo::ScatterAttrs{.update_window_dims = {1, 2},
                                            .inserted_window_dims = {1},
                                            .scatter_dims_to_operand_dims = {0, 1},
                                            .index_vector_dim = 1},
                 .fill_regions =
                     [](hlo::Instruction& x) {
                       hlo::fill_reducer(x.add_region(), Opcode::add, DType::f32);
                     }}),
            "");
}

}  // namespace
}  // namespace systole::cpu
