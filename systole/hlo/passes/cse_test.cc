#include "systole/hlo/passes/cse.h"

#include <gtest/gtest.h>

#include "systole/hlo/analysis/structural_equality.h"
#include "systole/hlo/ir/builder.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/hlo/testing/equivalence.h"
#include "systole/hlo/testing/sketch.h"

namespace systole::hlo {
namespace {

const TensorType kF{DType::f32, {3}};

class CseTest : public ::testing::Test {
 protected:
  bool run() {
    verify(module_);
    const auto before = module_.clone();
    const bool changed = CommonSubexpressionElimination().run(module_);
    verify(module_);
    EXPECT_EQ(testing::run_difference(*before, module_, 1, true), "");
    EXPECT_FALSE(CommonSubexpressionElimination().run(module_));
    return changed;
  }

  Instruction* branches(const std::function<Value(Builder&)>& fill) {
    return b_.op_with_regions(Opcode::if_, {p_}, NoAttrs{}, [&](Instruction& op) {
      for (int r = 0; r < 2; ++r) {
        Builder inner(op.add_region());
        inner.computation().set_results({fill(inner)});
      }
    });
  }

  Module module_;
  Computation& main_ = module_.add_function("main");
  Value x_ = main_.add_parameter(kF);
  Value y_ = main_.add_parameter(kF);
  Value p_ = main_.add_parameter({DType::pred, {}});
  Builder b_{main_};
};

TEST_F(CseTest, MergesEqualInstructions) {
  main_.set_results({b_.subtract(b_.negate(x_), y_), b_.subtract(b_.negate(x_), y_)});
  EXPECT_TRUE(run());
  EXPECT_EQ(main_.num_instructions(), 6);
  EXPECT_EQ(main_.results()[0], main_.results()[1]);
}

TEST_F(CseTest, OperandsOfCommutativeOpcodesComeInEitherOrder) {
  main_.set_results({b_.add(x_, y_), b_.add(y_, x_), b_.subtract(x_, y_), b_.subtract(y_, x_)});
  EXPECT_TRUE(run());
  EXPECT_EQ(main_.results()[0], main_.results()[1]);
  EXPECT_NE(main_.results()[2], main_.results()[3]);
}

TEST_F(CseTest, TellsAttributesTypesAndConstantsApart) {
  main_.set_results({b_.compare(x_, y_, ComparisonDirection::lt),
                     b_.compare(x_, y_, ComparisonDirection::le), b_.convert(x_, DType::bf16),
                     b_.convert(x_, DType::f16), b_.constant(Tensor(0.0F)),
                     b_.constant(Tensor(-0.0F)), b_.constant(Tensor(0))});
  EXPECT_FALSE(run());
}

TEST_F(CseTest, MergesConstantsAndReductions) {
  main_.set_results({b_.reduce(x_, Opcode::add, {0}), b_.reduce(x_, Opcode::add, {0}),
                     b_.reduce(x_, Opcode::multiply, {0})});
  EXPECT_TRUE(run());
  EXPECT_EQ(main_.results()[0], main_.results()[1]);
  EXPECT_NE(main_.results()[0], main_.results()[2]);
}

TEST_F(CseTest, OuterValuesServeBranches) {
  const Value outer = b_.add(x_, y_);
  Instruction* op = branches([&](Builder& inner) { return inner.negate(inner.add(y_, x_)); });
  main_.set_results({outer, op->result()});
  EXPECT_TRUE(run());
  EXPECT_EQ(op->region(0).num_instructions(), 2);
  EXPECT_EQ(op->region(0).results()[0].def->operand(0), outer);
  EXPECT_EQ(op->region(1).results()[0].def->operand(0), outer);
}

TEST_F(CseTest, BranchesServeNothingElse) {
  Instruction* op = branches([&](Builder& inner) { return inner.add(y_, x_); });
  main_.set_results({op->result(), b_.add(x_, y_)});
  EXPECT_FALSE(run());
}

TEST_F(CseTest, ReducersStayFunctionsOfTheirParameters) {
  const Value outer = b_.scalar(DType::f32, 2);
  Instruction* reduce =
      b_.op_with_regions(Opcode::reduce, {x_, outer}, DimensionsAttrs{{0}}, [&](Instruction& op) {
        Computation& region = op.add_region();
        const Value a = region.add_parameter({DType::f32, {}});
        const Value c = region.add_parameter({DType::f32, {}});
        Builder inner(region);
        region.set_results({inner.add(a, inner.multiply(c, inner.scalar(DType::f32, 2)))});
      });
  main_.set_results({reduce->result()});
  EXPECT_FALSE(run());
}

TEST_F(CseTest, MergesEqualLoops) {
  const auto fill = [&](Instruction& op) {
    for (int r = 0; r < 2; ++r) {
      Builder inner(op.add_region());
      const Value i = inner.computation().add_parameter(kF);
      inner.computation().set_results({r == 0 ? inner.scalar(DType::pred, 0) : inner.add(i, y_)});
    }
  };
  Instruction* first = b_.op_with_regions(Opcode::while_, {x_}, NoAttrs{}, fill);
  Instruction* second = b_.op_with_regions(Opcode::while_, {x_}, NoAttrs{}, fill);
  Instruction* other = b_.op_with_regions(Opcode::while_, {y_}, NoAttrs{}, fill);
  main_.set_results({first->result(), second->result(), other->result()});
  EXPECT_TRUE(run());
  EXPECT_EQ(main_.results()[0], main_.results()[1]);
  EXPECT_NE(main_.results()[0], main_.results()[2]);
}

TEST_F(CseTest, RandomBitsAreAFunctionOfTheirState) {
  const Value state = b_.constant(Tensor::of<uint64_t>({2}, {1, 2}));
  const auto bits = [&] {
    return b_.op(Opcode::rng_bit_generator, {state}, RngBitGeneratorAttrs{RngAlgorithm::philox},
                 {state.type(), TensorType{DType::u32, {4}}});
  };
  main_.set_results({bits()->result(1), bits()->result(1)});
  EXPECT_TRUE(run());
  EXPECT_EQ(main_.results()[0], main_.results()[1]);
}

// An unrolled sequence's slices would be compared with each other otherwise.
TEST_F(CseTest, HashesTellAttributesApart) {
  const Value zero = b_.scalar(DType::f32, 0);
  const std::pair<Value, Value> pairs[] = {
      {b_.slice(x_, {0}, {1}), b_.slice(x_, {1}, {2})},
      {b_.pad(x_, zero, {0}, {1}, {0}), b_.pad(x_, zero, {1}, {0}, {0})},
      {b_.compare(x_, y_, ComparisonDirection::lt), b_.compare(x_, y_, ComparisonDirection::le)},
      {b_.constant(Tensor(0.5F)), b_.constant(Tensor(1.5F))}};
  for (const auto& [a, c] : pairs) {
    EXPECT_NE(structural_hash(*a.def), structural_hash(*c.def)) << a.def->describe();
    EXPECT_NE(function_hash(*a.def), function_hash(*c.def)) << a.def->describe();
  }
  const Value again = b_.slice(y_, {1}, {2});
  EXPECT_EQ(function_hash(*again.def), function_hash(*pairs[0].second.def));
  EXPECT_TRUE(same_function(*again.def, *pairs[0].second.def));
}

TEST_F(CseTest, LeavesBarriersAlone) {
  main_.set_results({b_.op(Opcode::optimization_barrier, {x_})->result(),
                     b_.op(Opcode::optimization_barrier, {x_})->result()});
  EXPECT_FALSE(run());
}

}  // namespace
}  // namespace systole::hlo
