#include "systole/hlo/passes/constant_folding.h"

#include <gtest/gtest.h>

#include "systole/hlo/ir/builder.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/hlo/testing/equivalence.h"
#include "systole/hlo/testing/sketch.h"

namespace systole::hlo {
namespace {

// What folding makes of a program without arguments; "unchanged" when it leaves it alone.
std::string folded(const std::function<Value(Builder&)>& build) {
  Module module;
  Computation& main = module.add_function("main");
  Builder builder(main);
  main.set_results({build(builder)});
  verify(module);
  const auto before = module.clone();
  const bool changed = ConstantFolding().run(module);
  verify(module);
  EXPECT_EQ(testing::run_difference(*before, module, 0, false), "");
  return changed ? testing::sketch(main) : "unchanged";
}

Value counted_loop(Builder& b, Value x, double trips) {
  return b
      .op_with_regions(Opcode::while_, {b.scalar(DType::s32, 0), x}, NoAttrs{},
                       [&](Instruction& op) {
                         for (int r = 0; r < 2; ++r) {
                           Computation& region = op.add_region();
                           const Value i = region.add_parameter({DType::s32, {}});
                           const Value y = region.add_parameter(x.type());
                           Builder inner(region);
                           const Value last = inner.scalar(DType::s32, trips);
                           const Value one = inner.scalar(DType::s32, 1);
                           if (r == 0) {
                             region.set_results({inner.compare(i, last, ComparisonDirection::lt)});
                           } else {
                             region.set_results({inner.add(i, one), inner.add(y, y)});
                           }
                         }
                       })
      ->result(1);
}

TEST(ConstantFolding, ComputesChainsOfConstants) {
  EXPECT_EQ(folded([](Builder& b) {
              const Value x = b.constant(Tensor::of<int>({3}, {1, 2, 3}));
              return b.multiply(b.add(x, b.splat(x.type(), 1)), x);
            }),
            "{2,6,12}");
}

TEST(ConstantFolding, ComputesReductionsAndProducts) {
  EXPECT_EQ(folded([](Builder& b) {
              const Value x = b.constant(Tensor::of<float>({2, 2}, {1, 2, 3, 4}));
              const Value y = b.dot_general(
                  x, x, {.lhs_contracting_dimensions = {1}, .rhs_contracting_dimensions = {0}});
              return b.reduce(y, Opcode::add, {0});
            }),
            "{22,32}");
}

TEST(ConstantFolding, KeepsSplatsAndIota) {
  EXPECT_EQ(folded([](Builder& b) { return b.splat({DType::f32, {4}}, 1); }), "unchanged");
  EXPECT_EQ(folded([](Builder& b) {
              return b.broadcast(b.constant(Tensor::of<float>({2}, {1, 2})), {3, 2});
            }),
            "unchanged");
  EXPECT_EQ(folded([](Builder& b) { return b.iota({DType::s32, {4}}, 0); }), "unchanged");
  // The simplifier computes this on one element.
  EXPECT_EQ(folded([](Builder& b) {
              return b.negate(b.splat({DType::f32, {4}}, 1));
            }),
            "unchanged");
}

TEST(ConstantFolding, FoldsABroadcastThatOnlyPermutes) {
  EXPECT_EQ(folded([](Builder& b) {
              const Value x = b.constant(Tensor::of<int>({2, 2}, {1, 2, 3, 4}));
              return b.broadcast_in_dim(x, {2, 2}, {1, 0});
            }),
            "{1,3,2,4}");
}

TEST(ConstantFolding, LeavesLargeResultsAlone) {
  const auto padded_to = [](int64_t size) {
    return [=](Builder& b) {
      const Value x = b.constant(Tensor::of<int>({2}, {1, 2}));
      return b.slice(b.pad(x, b.scalar(DType::s32, 0), {0}, {size - 2}), {1}, {2});
    };
  };
  EXPECT_EQ(folded(padded_to(100)), "{2}");
  EXPECT_EQ(folded(padded_to(10'000'000)), "unchanged");
}

TEST(ConstantFolding, ReshapesConstantsOfAnySize) {
  EXPECT_EQ(folded([](Builder& b) {
              const Value x = b.constant(Tensor::zeros(DType::f32, {1 << 20}));
              return b.slice(b.reshape(x, {1 << 10, 1 << 10}), {0, 0}, {1, 1});
            }),
            "{0}");
}

TEST(ConstantFolding, FoldsShortLoopsOnly) {
  const auto loop_of = [](double trips) {
    return [=](Builder& b) { return counted_loop(b, b.scalar(DType::f32, 1), trips); };
  };
  EXPECT_EQ(folded(loop_of(0)), "1");
  EXPECT_EQ(folded(loop_of(3)), "8");
  EXPECT_EQ(folded(loop_of(1000)), "unchanged");
}

TEST(ConstantFolding, LeavesLoopsWithUnknownValuesAndBarriers) {
  Module module;
  Computation& main = module.add_function("main");
  const Value x = main.add_parameter({DType::f32, {}});
  Builder b(main);
  const Value barrier = b.op(Opcode::optimization_barrier, {b.scalar(DType::f32, 1)})->result();
  main.set_results({counted_loop(b, x, 3), b.add(x, b.scalar(DType::f32, 1)), barrier});
  EXPECT_FALSE(ConstantFolding().run(module));
}

TEST(ConstantFolding, FoldsInsideRegions) {
  Module module;
  Computation& main = module.add_function("main");
  const Value p = main.add_parameter({DType::pred, {}});
  Builder b(main);
  const Value two = b.scalar(DType::f32, 2);
  Instruction* op = b.op_with_regions(Opcode::if_, {p}, NoAttrs{}, [&](Instruction& branches) {
    for (int r = 0; r < 2; ++r) {
      Builder inner(branches.add_region());
      inner.computation().set_results({inner.add(two, inner.scalar(DType::f32, r))});
    }
  });
  main.set_results({op->result()});
  EXPECT_TRUE(ConstantFolding().run(module));
  verify(module);
  EXPECT_EQ(testing::sketch(main), "if(p0)[2][3]");
}

}  // namespace
}  // namespace systole::hlo
