#include "systole/backends/cpu/passes/row_updates.h"

#include <gtest/gtest.h>

#include <limits>

#include "systole/backends/cpu/testing/compare.h"
#include "systole/hlo/ir/builder.h"
#include "systole/hlo/passes/dce.h"
#include "systole/hlo/semantics/evaluator.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/stablehlo/text/text.h"

namespace systole::cpu {
namespace {

using hlo::Builder;
using hlo::Opcode;
using hlo::Value;

constexpr int64_t kTableRows = 400;
constexpr int64_t kUpdates = 30;
const TensorType kTable{DType::f32, {kTableRows, 6}};

// main(table, sums, indices, updates): `step` makes the results from table, sums and gradient.
using Step = std::function<std::vector<Value>(Builder&, Value table, Value sums, Value gradient)>;
std::unique_ptr<hlo::Module> update_module(const Step& step, DType indices = DType::s32) {
  auto module = std::make_unique<hlo::Module>();
  Builder b(module->add_function("main"));
  const Value table = b.computation().add_parameter(kTable);
  const Value sums = b.computation().add_parameter(kTable);
  const Value rows = b.computation().add_parameter({indices, {kUpdates, 1}});
  const Value updates = b.computation().add_parameter({DType::f32, {kUpdates, 6}});
  hlo::Instruction* gradient = b.op_with_regions(
      Opcode::scatter, {b.splat(kTable, 0), rows, updates},
      hlo::ScatterAttrs{.update_window_dims = {1},
                        .inserted_window_dims = {0},
                        .scatter_dims_to_operand_dims = {0},
                        .index_vector_dim = 1},
      [](hlo::Instruction& x) { hlo::fill_reducer(x.add_region(), Opcode::add, DType::f32); });
  b.computation().set_results(step(b, table, sums, gradient->result()));
  return module;
}

std::vector<Value> adagrad(Builder& b, Value table, Value sums, Value gradient) {
  const Value new_sums = b.add(sums, b.multiply(gradient, gradient));
  const Value root = b.add(b.unary(Opcode::sqrt, new_sums), b.splat(kTable, 1e-10));
  const Value by = b.divide(b.multiply(gradient, b.splat(kTable, 0.1)), root);
  return {b.subtract(table, by), new_sums};
}

// Some indices come twice, some are outside of the table.
std::vector<Tensor> update_arguments(const hlo::Module& module) {
  RandomStream random(93);
  std::vector<Tensor> arguments;
  for (int i = 0; i < module.entry().num_parameters(); ++i) {
    const TensorType type = module.entry().parameter(i).type();
    arguments.push_back(is_integer(type.dtype) ? testing::random_tensor(random, type, 0, 20)
                                               : testing::random_tensor(random, type, 0.5, 2));
  }
  if (arguments[2].dtype() == DType::s32) {
    arguments[2].data<int32_t>()[3] = -1;
    arguments[2].data<int32_t>()[4] = kTableRows;
    arguments[2].data<int32_t>()[5] = kTableRows - 1;
    arguments[2].data<int32_t>()[6] = std::numeric_limits<int32_t>::min();
  }
  return arguments;
}

// Returns whether the pass rewrites the program, and expects the same bits of it.
bool rewrites(const Step& step, DType indices = DType::s32) {
  const auto module = update_module(step, indices);
  const std::vector<Tensor> arguments = update_arguments(*module);
  const std::vector<Tensor> want = hlo::Evaluator().run(module->entry(), arguments);
  if (!RowUpdates().run(*module)) return false;
  hlo::DeadCodeElimination().run(*module);
  hlo::verify(*module);
  for (const hlo::Instruction* x : module->entry().instructions()) {
    EXPECT_FALSE(x->traits().has(hlo::kElementwise) && x->type() == kTable) << hlo::print(*module);
  }
  const std::vector<Tensor> got = hlo::Evaluator().run(module->entry(), arguments);
  for (size_t k = 0; k < want.size(); ++k)
    EXPECT_TRUE(got[k].identical(want[k])) << testing::difference(got[k], want[k], {});
  EXPECT_EQ(testing::check(*update_module(step, indices), arguments, {.ulps = 4}), "");
  EXPECT_FALSE(RowUpdates().run(*module));
  return true;
}

TEST(RowUpdates, OfAdagrad) {
  EXPECT_TRUE(rewrites(adagrad));
  EXPECT_TRUE(rewrites(adagrad, DType::s64));
  EXPECT_TRUE(rewrites(adagrad, DType::u32));
}

TEST(RowUpdates, OfGradientDescent) {
  EXPECT_TRUE(rewrites([](Builder& b, Value table, Value sums, Value gradient) {
    return std::vector{b.subtract(table, b.multiply(b.splat(kTable, 0.5), gradient)), sums};
  }));
}

TEST(RowUpdates, NotWhereOtherRowsChange) {
  // Momentum moves all rows.
  EXPECT_FALSE(rewrites([](Builder& b, Value table, Value sums, Value gradient) {
    const Value velocity = b.add(b.multiply(sums, b.splat(kTable, 0.9)), gradient);
    return std::vector{b.subtract(table, velocity), velocity};
  }));
  // The gradient is a result.
  EXPECT_FALSE(rewrites([](Builder& b, Value table, Value, Value gradient) {
    return std::vector{b.subtract(table, gradient), gradient};
  }));
  // It is clipped by the size of the whole.
  EXPECT_FALSE(rewrites([](Builder& b, Value table, Value sums, Value gradient) {
    const Value size = b.reduce(b.multiply(gradient, gradient), Opcode::add, {0, 1});
    return std::vector{b.subtract(table, b.multiply(gradient, b.broadcast(size, kTable.shape))),
                       sums};
  }));
  // Another table takes its place.
  EXPECT_FALSE(rewrites([](Builder& b, Value table, Value sums, Value gradient) {
    return std::vector{b.subtract(b.negate(table), gradient), sums};
  }));
}

}  // namespace
}  // namespace systole::cpu
