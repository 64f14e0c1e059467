#include "systole/hlo/passes/fusion.h"

#include <gtest/gtest.h>

#include "systole/hlo/ir/builder.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/hlo/testing/equivalence.h"
#include "systole/hlo/testing/sketch.h"

namespace systole::hlo {
namespace {

constexpr auto kExp = Opcode::exponential;

// main(x: f32[4,3], y: f32[4,3], v: f32[3], w: f32[3,3])
class FusionPassTest : public ::testing::Test {
 protected:
  // Runs the pass on main with these results, and returns the sketch of what it made.
  std::string fused(std::vector<Value> results, const FusionOptions& options = kDefaults) {
    main_.set_results(std::move(results));
    verify(module_);
    const auto before = module_.clone();
    FusionPass pass(options);
    const bool changed = pass.run(module_);
    verify(module_);
    EXPECT_EQ(testing::run_difference(*before, module_, 1, true), "");
    EXPECT_EQ(changed, num_fusions() > 0);
    EXPECT_FALSE(pass.run(module_));
    return testing::sketch(main_);
  }

  int num_fusions() const {
    int count = 0;
    for (const Instruction* i : main_.instructions()) count += i->is(Opcode::fusion) ? 1 : 0;
    return count;
  }

  Value exp(Value x) { return b_.unary(kExp, x); }
  Value product(Value x) {
    return b_.dot_general(x, w_,
                          {.lhs_contracting_dimensions = {1}, .rhs_contracting_dimensions = {0}});
  }

  static const FusionOptions kDefaults;
  Module module_;
  Computation& main_ = module_.add_function("main");
  Value x_ = main_.add_parameter({DType::f32, {4, 3}});
  Value y_ = main_.add_parameter({DType::f32, {4, 3}});
  Value v_ = main_.add_parameter({DType::f32, {3}});
  Value w_ = main_.add_parameter({DType::f32, {3, 3}});
  Builder b_{main_};
};
const FusionOptions FusionPassTest::kDefaults = FusionOptions::defaults();

// -- What goes into a loop

TEST_F(FusionPassTest, AChainOfElementwiseInstructions) {
  EXPECT_EQ(fused({b_.add(exp(b_.negate(x_)), y_)}),
            "fusion(p0, p1)[add(exponential(negate(a0)), a1)]");
}

TEST_F(FusionPassTest, NotAnInstructionAlone) { EXPECT_EQ(fused({exp(x_)}), "exponential(p0)"); }

TEST_F(FusionPassTest, MovementByIndex) {
  const Value turned = b_.reverse(b_.transpose(b_.slice(x_, {1, 0}, {4, 3}), {1, 0}), {0});
  EXPECT_EQ(fused({b_.add(turned, w_)}),
            "fusion(p0, p3)[add(reverse{0}(transpose{1,0}(slice{1:4,0:3}(a0))), a1)]");
}

TEST_F(FusionPassTest, ScalarConstantsAreCopiedIn) {
  EXPECT_EQ(fused({b_.multiply(b_.negate(x_), b_.splat_like(x_, 2))}),
            "fusion(p0)[multiply(negate(a0), broadcast_in_dim[4,3](2))]");
}

TEST_F(FusionPassTest, AReductionEndsIt) {
  EXPECT_EQ(fused({b_.reduce(b_.multiply(x_, y_), Opcode::add, {1})}),
            "fusion(p0, p1)[reduce{1}(multiply(a0, a1), 0)[add]]");
}

TEST_F(FusionPassTest, WhatFollowsAReductionHasALoopOfItsOwn) {
  EXPECT_EQ(fused({b_.negate(exp(b_.reduce(b_.negate(x_), Opcode::add, {1})))}),
            "fusion(fusion(p0)[reduce{1}(negate(a0), 0)[add]])[negate(exponential(a0))]");
}

// -- What does not

TEST_F(FusionPassTest, ProductsStayAlone) {
  EXPECT_EQ(fused({b_.negate(exp(product(b_.negate(exp(x_)))))}),
            "fusion(dot_general{;1 x ;0}(fusion(p0)[negate(exponential(a0))], "
            "p3))[negate(exponential(a0))]");
  EXPECT_EQ(num_fusions(), 2);
}

TEST_F(FusionPassTest, ConcatenationsOfManyOperandsStayAlone) {
  const auto joins = [&](int count) {
    return joins_equal_shapes(*b_.concatenate(std::vector<Value>(count, x_), 0).def);
  };
  EXPECT_TRUE(joins(kMaxJoined));
  EXPECT_FALSE(joins(kMaxJoined + 1));
}

TEST_F(FusionPassTest, ConcatenationsOfUnequalShapesStayAlone) {
  const Value both[] = {b_.negate(x_), w_};
  EXPECT_EQ(fused({b_.concatenate(both, 0)}), "concatenate{0}(negate(p0), p3)");
}

TEST_F(FusionPassTest, AReshapeIsNotStoredAgain) {
  const Value sum = b_.add(b_.negate(x_), y_);
  EXPECT_EQ(fused({b_.reshape(sum, {12}), product(sum)}),
            "reshape[12](fusion(p0, p1)[add(negate(a0), a1)]); "
            "dot_general{;1 x ;0}(fusion(p0, p1)[add(negate(a0), a1)], p3)");
}

TEST_F(FusionPassTest, EmptyTensorsStayAlone) {
  const Value empty = b_.slice(x_, {0, 0}, {0, 3});
  EXPECT_EQ(fused({b_.negate(exp(empty))}), "negate(exponential(slice{0:0,0:3}(p0)))");
}

TEST_F(FusionPassTest, RegionsThatUseValuesAroundThemStayAlone) {
  const Value bound = b_.reshape(b_.slice(v_, {0}, {1}), {});
  const auto fill = [&](Instruction& reduce) {
    Computation& region = reduce.add_region();
    const Value a = region.add_parameter({DType::f32, {}});
    const Value b = region.add_parameter({DType::f32, {}});
    Builder inner(region);
    region.set_results({inner.minimum(inner.add(a, b), bound)});
  };
  const Value zero = b_.scalar(DType::f32, 0);
  Instruction* const reduce =
      b_.op_with_regions(Opcode::reduce, {b_.negate(x_), zero}, DimensionsAttrs{{1}}, fill);
  fused({reduce->result()});
  EXPECT_EQ(&reduce->parent(), &main_);
  EXPECT_TRUE(reduce->operand(0).def->is(Opcode::negate));
}

TEST_F(FusionPassTest, AnExpensiveElementIsNotComputedTwice) {
  const auto spread = [&](Value x, int64_t rows) { return b_.broadcast_in_dim(x, {rows, 3}, {1}); };
  EXPECT_EQ(fused({b_.negate(spread(exp(v_), 4))}),
            "fusion(exponential(p2))[negate(broadcast_in_dim[4,3]{1}(a0))]");
}

TEST_F(FusionPassTest, ASimpleElementIsComputedUpToFourTimes) {
  const auto spread = [&](int64_t rows) {
    return b_.negate(b_.broadcast_in_dim(b_.negate(v_), {rows, 3}, {1}));
  };
  EXPECT_EQ(fused({spread(4), spread(5)}),
            "fusion(p2)[negate(broadcast_in_dim[4,3]{1}(negate(a0)))]; "
            "fusion(negate(p2))[negate(broadcast_in_dim[5,3]{1}(a0))]");
}

TEST_F(FusionPassTest, NoMoreInstructionsThanTheLimit) {
  Value chain = x_;
  for (int i = 0; i < 5; ++i) chain = b_.negate(chain);
  FusionOptions options = kDefaults;
  options.max_code = 3;
  EXPECT_EQ(fused({chain}, options),
            "fusion(fusion(p0)[negate(negate(a0))])[negate(negate(negate(a0)))]");
}

TEST_F(FusionPassTest, ATranscendentalFunctionCountsForSeveral) {
  Value chain = x_;
  for (int i = 0; i < 3; ++i) chain = exp(chain);
  FusionOptions options = kDefaults;
  options.max_code = 2 * FusionOptions::kTranscendentalCode;
  EXPECT_EQ(fused({chain}, options), "fusion(exponential(p0))[exponential(exponential(a0))]");
}

TEST_F(FusionPassTest, CheapInstructionsGoIntoAFullFusion) {
  Value chain = x_;
  for (int i = 1; i < 4; ++i) chain = b_.multiply(chain, b_.splat_like(x_, i + 1));
  FusionOptions options = kDefaults;
  options.max_code = 2;
  EXPECT_EQ(fused({chain}, options),
            "fusion(fusion(p0)[multiply(a0, broadcast_in_dim[4,3](2))])[multiply(multiply(a0, "
            "broadcast_in_dim[4,3](3)), broadcast_in_dim[4,3](4))]");
}

TEST_F(FusionPassTest, WhatTheBackendsLoopsCannotDo) {
  FusionOptions options = kDefaults;
  options.inside = [](const Instruction& i) {
    return !i.is(Opcode::transpose) && kDefaults.inside(i);
  };
  EXPECT_EQ(fused({b_.negate(exp(b_.transpose(b_.negate(x_), {1, 0})))}, options),
            "fusion(transpose{1,0}(negate(p0)))[negate(exponential(a0))]");
}

// -- Several results

TEST_F(FusionPassTest, AValueThatIsUsedElsewhereIsOneMoreResult) {
  const Value e = exp(x_);
  EXPECT_EQ(fused({b_.add(e, y_), e}),
            "fusion(p0, p1)[exponential(a0); add(exponential(a0), a1)].1; "
            "fusion(p0, p1)[exponential(a0); add(exponential(a0), a1)].0");
  EXPECT_EQ(num_fusions(), 1);
}

TEST_F(FusionPassTest, AConcatenationOfEqualShapesEndsIt) {
  const Value e = exp(x_);
  const Value both[] = {b_.negate(e), b_.add(e, y_)};
  EXPECT_EQ(fused({b_.concatenate(both, 1), e}),
            "fusion(p0, p1)[exponential(a0); concatenate{1}(negate(exponential(a0)), "
            "add(exponential(a0), a1))].1; fusion(p0, p1)[exponential(a0); "
            "concatenate{1}(negate(exponential(a0)), add(exponential(a0), a1))].0");
  EXPECT_EQ(num_fusions(), 1);
}

// `e` joins the loop of one of its users; the other one joins them.
TEST_F(FusionPassTest, AllUsersOfAValueShareItsLoop) {
  const Value e = exp(x_);
  fused({product(b_.add(e, y_)), product(b_.multiply(e, y_))});
  EXPECT_EQ(num_fusions(), 1);
}

TEST_F(FusionPassTest, UsersThatWaitForEachOtherDoNot) {
  const Value e = exp(x_);
  fused({b_.multiply(e, product(b_.add(e, y_)))});
  EXPECT_EQ(num_fusions(), 1);
}

TEST_F(FusionPassTest, NotWhenTheLoopReadsItAtAnotherIndex) {
  const Value e = exp(x_);
  EXPECT_EQ(fused({b_.negate(b_.reverse(e, {0})), e}),
            "fusion(exponential(p0))[negate(reverse{0}(a0))]; exponential(p0)");
}

TEST_F(FusionPassTest, NotWhenItWouldWaitForItself) {
  const Value e = exp(x_);
  EXPECT_EQ(fused({b_.negate(b_.add(e, product(e)))}),
            "fusion(exponential(p0), dot_general{;1 x ;0}(exponential(p0), p3))"
            "[negate(add(a0, a1))]");
}

TEST_F(FusionPassTest, CheapProducersAreCopiedToTheirUsers) {
  const Value spread = b_.broadcast_in_dim(v_, {4, 3}, {1});
  const Value first = product(b_.add(spread, x_));
  EXPECT_EQ(fused({b_.multiply(spread, first)}),
            "fusion(p2, dot_general{;1 x ;0}(fusion(p2, p0)[add(broadcast_in_dim[4,3]{1}(a0), "
            "a1)], p3))[multiply(broadcast_in_dim[4,3]{1}(a0), a1)]");
}

// -- Reductions side by side

TEST_F(FusionPassTest, ReductionsOfOneOperandShareALoop) {
  const Value sum = b_.reduce(x_, Opcode::add, {1});
  const Value squares = b_.reduce(b_.multiply(x_, x_), Opcode::add, {1});
  const std::string both =
      "fusion(p0)[reduce{1}(a0, 0)[add]; "
      "reduce{1}(multiply(a0, a0), 0)[add]]";
  EXPECT_EQ(fused({sum, squares}), both + ".0; " + both + ".1");
  EXPECT_EQ(num_fusions(), 1);
}

TEST_F(FusionPassTest, ReductionsAlongOtherAxesDoNot) {
  EXPECT_EQ(fused({b_.reduce(x_, Opcode::add, {1}), b_.reduce(x_, Opcode::add, {0})}),
            "reduce{1}(p0, 0)[add]; reduce{0}(p0, 0)[add]");
}

TEST_F(FusionPassTest, ReductionsOfOtherOperandsDoNot) {
  EXPECT_EQ(fused({b_.reduce(x_, Opcode::add, {1}), b_.reduce(y_, Opcode::add, {1})}),
            "reduce{1}(p0, 0)[add]; reduce{1}(p1, 0)[add]");
}

TEST_F(FusionPassTest, ReductionsOfWhichOneNeedsTheOtherDoNot) {
  const Value sum = b_.reduce(x_, Opcode::add, {1});
  const Value centred = b_.subtract(x_, b_.broadcast_in_dim(sum, {4, 3}, {0}));
  EXPECT_EQ(fused({b_.reduce(centred, Opcode::add, {1})}),
            "fusion(reduce{1}(p0, 0)[add], p0)"
            "[reduce{1}(subtract(a1, broadcast_in_dim[4,3]{0}(a0)), 0)[add]]");
}

// -- Programs in regions

TEST_F(FusionPassTest, BodiesOfLoopsAreProgramsOfTheirOwn) {
  const auto fill = [&](Instruction& loop) {
    Computation& condition = loop.add_region();
    const Value state = condition.add_parameter(x_.type());
    Builder test(condition);
    const Value sum = test.reduce(state, Opcode::add, {0, 1});
    condition.set_results({test.compare(sum, test.scalar(DType::f32, 9), ComparisonDirection::lt)});
    Computation& body = loop.add_region();
    Builder step(body);
    const Value before = body.add_parameter(x_.type());
    body.set_results({step.add(step.multiply(before, before), step.splat_like(before, 1))});
  };
  Instruction* const loop = b_.op_with_regions(Opcode::while_, {x_}, NoAttrs{}, fill);
  main_.set_results({loop->result()});
  verify(module_);
  const auto before = module_.clone();
  EXPECT_TRUE(FusionPass().run(module_));
  verify(module_);
  EXPECT_EQ(testing::run_difference(*before, module_, 1, false), "");
  EXPECT_EQ(testing::sketch(loop->region(1)),
            "fusion(a0)[add(multiply(a0, a0), broadcast_in_dim[4,3](1))]");
}

TEST_F(FusionPassTest, EverythingElseKeepsItsOrder) {
  const Value first = product(x_);
  const Value second = b_.negate(exp(y_));
  const Value third = product(second);
  const Value fourth = b_.negate(exp(first));
  fused({third, fourth});
  std::vector<Opcode> order;
  for (const Instruction* i : main_.instructions()) {
    if (i->is(Opcode::dot_general) || i->is(Opcode::fusion)) order.push_back(i->opcode());
  }
  EXPECT_EQ(order, (std::vector{Opcode::dot_general, Opcode::fusion, Opcode::dot_general,
                                Opcode::fusion}));
}

}  // namespace
}  // namespace systole::hlo
