#include "systole/hlo/analysis/partial_evaluation.h"

#include <gtest/gtest.h>

#include "systole/hlo/ir/builder.h"

namespace systole::hlo {
namespace {

TEST(PartialEvaluation, KnowsWhatFollowsFromWhatIsKnown) {
  Module module;
  Computation& f = module.add_function("main");
  const Value x = f.add_parameter({DType::s32, {}});
  const Value y = f.add_parameter({DType::s32, {}});
  Builder b(f);
  const Value two = b.scalar(DType::s32, 2);
  f.set_results({b.add(x, two), b.add(x, y), b.multiply(two, two)});
  const std::vector<Tensor> arguments{Tensor(5), Tensor()};
  const std::vector<Tensor> results = partially_evaluate(f, arguments);
  EXPECT_EQ(results[0].item<int32_t>(), 7);
  EXPECT_FALSE(results[1].valid());
  EXPECT_EQ(results[2].item<int32_t>(), 4);
}

TEST(PartialEvaluation, SeesConstantsAroundARegion) {
  Module module;
  Computation& main = module.add_function("main");
  Builder b(main);
  const Value outer = b.splat({DType::f32, {2}}, 3);
  Instruction* op =
      b.op_with_regions(Opcode::case_, {b.scalar(DType::s32, 0)}, NoAttrs{}, [&](Instruction& c) {
        Builder inner(c.add_region());
        inner.computation().set_results({inner.add(outer, outer)});
      });
  main.set_results({op->result()});
  const std::vector<Tensor> results = partially_evaluate(op->region(), {});
  EXPECT_TRUE(results[0].identical(Tensor::of<float>({2}, {6, 6})));
}

TEST(PartialEvaluation, LeavesWhatIsLargeOrPinned) {
  Module module;
  Computation& main = module.add_function("main");
  Builder b(main);
  const Value x = b.constant(Tensor::zeros(DType::f32, {200, 200}));
  const Value product =
      b.dot_general(x, x, {.lhs_contracting_dimensions = {1}, .rhs_contracting_dimensions = {0}});
  const std::vector<Tensor> operands{known_value(x), known_value(x)};
  EXPECT_TRUE(evaluate_if_cheap(*product.def, operands).empty());
  EXPECT_EQ(evaluate_if_cheap(*b.add(x, x).def, operands).size(), 1U);
  Instruction* barrier = b.op(Opcode::optimization_barrier, {x});
  EXPECT_TRUE(evaluate_if_cheap(*barrier, {operands.data(), 1}).empty());
  EXPECT_FALSE(known_value(b.splat({DType::f32, {1 << 20}}, 1)).valid());
}

}  // namespace
}  // namespace systole::hlo
