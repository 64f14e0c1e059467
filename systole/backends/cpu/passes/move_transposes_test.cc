#include "systole/backends/cpu/passes/move_transposes.h"

#include <gtest/gtest.h>

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

constexpr int64_t kQueries = 24, kHeads = 3, kKeys = 40, kSize = 5;
const TensorType kQuery{DType::f32, {2, kQueries, 4, kHeads, kSize}};
const TensorType kKey{DType::f32, {2, kKeys, 4, kSize}};
const TensorType kScores{DType::f32, {2, 4, kHeads, kQueries, kKeys}};

template <class Fill>
std::unique_ptr<hlo::Module> product_module(const std::vector<TensorType>& types, Fill fill) {
  auto module = std::make_unique<hlo::Module>();
  Builder b(module->add_function("main"));
  std::vector<Value> values;
  for (const TensorType& type : types) values.push_back(b.computation().add_parameter(type));
  const Value result = fill(b, values);
  b.computation().set_results({result});
  return module;
}

// Expects the same results, and no transpose of more elements than those of `largest`.
void expect_moved(hlo::Module& module, const Shape& largest) {
  RandomStream random(81);
  std::vector<Tensor> arguments;
  for (int i = 0; i < module.entry().num_parameters(); ++i)
    arguments.push_back(testing::random_tensor(random, module.entry().parameter(i).type(), -1, 1));
  const std::vector<Tensor> want = hlo::Evaluator().run(module.entry(), arguments);
  EXPECT_TRUE(MoveTransposes().run(module));
  hlo::DeadCodeElimination().run(module);
  hlo::verify(module);
  for (const hlo::Instruction* x : module.entry().instructions()) {
    if (!x->is(Opcode::transpose)) continue;
    EXPECT_LE(x->shape().num_elements(), largest.num_elements()) << hlo::print(module);
  }
  const std::vector<Tensor> got = hlo::Evaluator().run(module.entry(), arguments);
  EXPECT_EQ(testing::difference(got[0], want[0], {.of_largest = 1e-6}), "") << hlo::print(module);
  EXPECT_FALSE(MoveTransposes().run(module));
}

TEST(MoveTransposes, FromScoresToQueries) {
  const auto module = product_module({kQuery, kKey}, [](Builder& b, const std::vector<Value>& p) {
    const Value scores = b.dot_general(p[0], p[1],
                                       {.lhs_batching_dimensions = {0, 2},
                                        .rhs_batching_dimensions = {0, 2},
                                        .lhs_contracting_dimensions = {4},
                                        .rhs_contracting_dimensions = {3}});
    return b.transpose(scores, {0, 1, 3, 2, 4});
  });
  expect_moved(*module, kQuery.shape);
}

TEST(MoveTransposes, FromScoresToTheGradientOfQueries) {
  const auto module = product_module({kScores, kKey}, [](Builder& b, const std::vector<Value>& p) {
    return b.dot_general(b.transpose(p[0], {0, 1, 4, 3, 2}), p[1],
                         {.lhs_batching_dimensions = {0, 1},
                          .rhs_batching_dimensions = {0, 2},
                          .lhs_contracting_dimensions = {2},
                          .rhs_contracting_dimensions = {1}});
  });
  expect_moved(*module, kQuery.shape);
}

TEST(MoveTransposes, FromScoresToQueriesThatAreSummedUp) {
  const auto module =
      product_module({kScores, kQuery}, [](Builder& b, const std::vector<Value>& p) {
        return b.dot_general(b.transpose(p[0], {0, 1, 4, 3, 2}), p[1],
                             {.lhs_batching_dimensions = {0, 1},
                              .rhs_batching_dimensions = {0, 2},
                              .lhs_contracting_dimensions = {3, 4},
                              .rhs_contracting_dimensions = {1, 3}});
      });
  expect_moved(*module, kQuery.shape);
}

TEST(MoveTransposes, NotToLargerArrays) {
  const TensorType few{DType::f32, {2, kQueries, 4, kHeads, 100}};
  const TensorType keys{DType::f32, {2, kKeys, 4, 100}};
  const auto module = product_module({few, keys}, [](Builder& b, const std::vector<Value>& p) {
    const Value scores = b.dot_general(p[0], p[1],
                                       {.lhs_batching_dimensions = {0, 2},
                                        .rhs_batching_dimensions = {0, 2},
                                        .lhs_contracting_dimensions = {4},
                                        .rhs_contracting_dimensions = {3}});
    return b.transpose(scores, {0, 1, 3, 2, 4});
  });
  EXPECT_FALSE(MoveTransposes().run(*module));
}

}  // namespace
}  // namespace systole::cpu
