#include "systole/hlo/passes/dce.h"

#include <gtest/gtest.h>

#include "systole/hlo/ir/builder.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/hlo/testing/equivalence.h"
#include "systole/hlo/testing/sketch.h"

namespace systole::hlo {
namespace {

using testing::run_difference;
using testing::sketch;

const TensorType kF{DType::f32, {3}};
const TensorType kI{DType::s32, {}};

class DceTest : public ::testing::Test {
 protected:
  // Runs the pass; the module stays valid, and a second run finds nothing to do.
  bool run() {
    verify(module_);
    const auto before = module_.clone();
    const bool changed = DeadCodeElimination().run(module_);
    verify(module_);
    EXPECT_EQ(run_difference(*before, module_, 1, true), "");
    EXPECT_FALSE(DeadCodeElimination().run(module_));
    return changed;
  }

  // while (v0 < v1) with a body's results made by `fill`; the results of main are those of the loop
  // at `used`.
  Instruction* loop(std::vector<Value> carried, const std::vector<int>& used,
                    const std::function<std::vector<Value>(Builder&, Computation&)>& fill) {
    Instruction* loop =
        b_.op_with_regions(Opcode::while_, carried, NoAttrs{}, [&](Instruction& op) {
          for (int r = 0; r < 2; ++r) {
            Computation& region = op.add_region();
            for (const Value& value : carried) region.add_parameter(value.type());
            Builder inner(region);
            region.set_results(
                r == 0 ? std::vector<Value>{inner.compare(region.parameter(0), region.parameter(1),
                                                          ComparisonDirection::lt)}
                       : fill(inner, region));
          }
        });
    std::vector<Value> results;
    results.reserve(used.size());
    for (const int i : used) results.push_back(loop->result(i));
    main_.set_results(results);
    return loop;
  }

  Module module_;
  Computation& main_ = module_.add_function("main");
  Builder b_{main_};
};

TEST_F(DceTest, RemovesChainsWithoutUsers) {
  const Value x = main_.add_parameter(kF);
  b_.add(b_.negate(x), b_.unary(Opcode::sine, x));
  main_.set_results({x});
  EXPECT_TRUE(run());
  EXPECT_EQ(main_.num_instructions(), 2);
}

TEST_F(DceTest, KeepsWhatIsUsedPinnedOrAParameter) {
  const Value x = main_.add_parameter(kF);
  main_.add_parameter(kF);
  b_.op(Opcode::optimization_barrier, {b_.negate(x)});
  main_.set_results({b_.add(x, x)});
  EXPECT_FALSE(run());
  EXPECT_EQ(main_.num_instructions(), 6);
}

TEST_F(DceTest, RemovesDeadCodeInRegions) {
  const Value x = main_.add_parameter(kF);
  const Value p = main_.add_parameter({DType::pred, {}});
  const Value only_dead_user = b_.unary(Opcode::cosine, x);
  Instruction* branches = b_.op_with_regions(Opcode::if_, {p}, NoAttrs{}, [&](Instruction& op) {
    for (int r = 0; r < 2; ++r) {
      Builder inner(op.add_region());
      inner.negate(only_dead_user);
      inner.computation().set_results({x});
    }
  });
  main_.set_results({branches->result()});
  EXPECT_TRUE(run());
  EXPECT_EQ(sketch(main_), "if(p1)[p0][p0]");
  EXPECT_EQ(main_.num_instructions(), 4);
}

TEST_F(DceTest, DropsCarriedValuesThatNothingReads) {
  const Value n = main_.add_parameter(kI);
  const Value x = main_.add_parameter(kF);
  // Value 3 goes round for itself alone, value 4 feeds value 3.
  loop({b_.scalar(DType::s32, 0), n, x, x, x}, {2}, [](Builder& b, Computation& c) {
    return std::vector<Value>{b.add(c.parameter(0), b.scalar(DType::s32, 1)), c.parameter(1),
                              b.add(c.parameter(2), c.parameter(2)),
                              b.add(c.parameter(3), c.parameter(4)), b.negate(c.parameter(4))};
  });
  EXPECT_TRUE(run());
  EXPECT_EQ(sketch(main_), "while(0, p0, p1)[compare{lt}(a0, a1)][add(a0, 1); a1; add(a2, a2)].2");
}

TEST_F(DceTest, KeepsCarriedValuesThatFeedALiveOne) {
  const Value n = main_.add_parameter(kI);
  const Value x = main_.add_parameter(kF);
  loop({b_.scalar(DType::s32, 0), n, x, x}, {2}, [](Builder& b, Computation& c) {
    return std::vector<Value>{b.add(c.parameter(0), b.scalar(DType::s32, 1)), c.parameter(1),
                              b.add(c.parameter(2), c.parameter(3)), b.negate(c.parameter(3))};
  });
  EXPECT_FALSE(run());
}

TEST_F(DceTest, KeepsCarriedValuesThatAPinnedInstructionReads) {
  const Value n = main_.add_parameter(kI);
  const Value x = main_.add_parameter(kF);
  loop({b_.scalar(DType::s32, 0), n, x}, {0}, [](Builder& b, Computation& c) {
    b.op(Opcode::optimization_barrier, {b.negate(c.parameter(2))});
    return std::vector<Value>{b.add(c.parameter(0), b.scalar(DType::s32, 1)), c.parameter(1),
                              c.parameter(2)};
  });
  EXPECT_FALSE(run());
}

TEST_F(DceTest, RemovesALoopThatNothingReads) {
  const Value n = main_.add_parameter(kI);
  loop({b_.scalar(DType::s32, 0), n}, {}, [](Builder& b, Computation& c) {
    return std::vector<Value>{b.add(c.parameter(0), b.scalar(DType::s32, 1)), c.parameter(1)};
  });
  main_.set_results({n});
  EXPECT_TRUE(run());
  EXPECT_EQ(sketch(main_), "p0");
}

TEST_F(DceTest, DropsUnusedResultsOfBranches) {
  const Value p = main_.add_parameter({DType::pred, {}});
  const Value x = main_.add_parameter(kF);
  Instruction* branches = b_.op_with_regions(Opcode::if_, {p}, NoAttrs{}, [&](Instruction& op) {
    for (int r = 0; r < 2; ++r) {
      Builder inner(op.add_region());
      inner.computation().set_results({inner.unary(Opcode::sine, x), inner.negate(x)});
    }
  });
  main_.set_results({branches->result(1)});
  EXPECT_TRUE(run());
  EXPECT_EQ(sketch(main_), "if(p0)[negate(p1)][negate(p1)]");
}

TEST_F(DceTest, RemovesFunctionsThatMainDoesNotReach) {
  for (const char* name : {"inner", "outer", "unreached"}) {
    Computation& function = module_.add_function(name);
    Value x = function.add_parameter(kF);
    Builder builder(function);
    if (function.name() == "outer") {
      x = builder.op(Opcode::call, {x}, CallAttrs{"inner"})->result();
    }
    function.set_results({x});
  }
  const Value x = main_.add_parameter(kF);
  main_.set_results({b_.op(Opcode::call, {x}, CallAttrs{"outer"})->result()});
  EXPECT_TRUE(run());
  EXPECT_EQ(module_.functions().size(), 3U);
  EXPECT_EQ(module_.find_function("unreached"), nullptr);
}

TEST(Dce, LeavesFunctionsOfAModuleWithoutMain) {
  Module module;
  Computation& function = module.add_function("step");
  function.set_results({function.add_parameter(kF)});
  EXPECT_FALSE(DeadCodeElimination().run(module));
  EXPECT_EQ(module.functions().size(), 1U);
}

}  // namespace
}  // namespace systole::hlo
