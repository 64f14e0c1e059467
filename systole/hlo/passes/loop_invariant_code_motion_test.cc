#include "systole/hlo/passes/loop_invariant_code_motion.h"

#include <gtest/gtest.h>

#include "systole/hlo/ir/builder.h"
#include "systole/hlo/passes/dce.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/hlo/testing/equivalence.h"
#include "systole/hlo/testing/sketch.h"

namespace systole::hlo {
namespace {

const TensorType kF{DType::f32, {100}};

class LoopTest : public ::testing::Test {
 protected:
  // for (i = 0; i < 3; ++i) carried = body(carried)
  Instruction* loop(
      Builder& b, std::vector<Value> carried,
      const std::function<std::vector<Value>(Builder&, std::span<const Value>)>& body) {
    carried.insert(carried.begin(), b.scalar(DType::s32, 0));
    return b.op_with_regions(Opcode::while_, carried, NoAttrs{}, [&](Instruction& op) {
      for (int r = 0; r < 2; ++r) {
        Computation& region = op.add_region();
        std::vector<Value> parameters;
        parameters.reserve(carried.size());
        for (const Value& value : carried) parameters.push_back(region.add_parameter(value.type()));
        Builder inner(region);
        if (r == 0) {
          region.set_results(
              {inner.compare(parameters[0], inner.scalar(DType::s32, 3), ComparisonDirection::lt)});
          continue;
        }
        std::vector<Value> results = body(inner, std::span(parameters).subspan(1));
        results.insert(results.begin(), inner.add(parameters[0], inner.scalar(DType::s32, 1)));
        region.set_results(results);
      }
    });
  }

  // What is left after dce; "unchanged" when the pass found nothing to do.
  std::string run() {
    verify(module_);
    const auto before = module_.clone();
    const bool changed = LoopInvariantCodeMotion().run(module_);
    verify(module_);
    EXPECT_EQ(testing::run_difference(*before, module_, 1, true), "");
    EXPECT_FALSE(LoopInvariantCodeMotion().run(module_));
    DeadCodeElimination().run(module_);
    verify(module_);
    return changed ? testing::sketch(main_) : "unchanged";
  }

  Module module_;
  Computation& main_ = module_.add_function("main");
  Value x_ = main_.add_parameter(kF);
  Value y_ = main_.add_parameter(kF);
  Builder b_{main_};
};

TEST_F(LoopTest, MovesWhatDoesNotChange) {
  Instruction* op = loop(b_, {x_}, [&](Builder& b, std::span<const Value> v) {
    return std::vector<Value>{b.add(v[0], b.unary(Opcode::tanh, b.negate(y_)))};
  });
  main_.set_results({op->result(1)});
  EXPECT_EQ(run(), "while(0, p0)[compare{lt}(a0, 3)][add(a0, 1); add(a1, tanh(negate(p1)))].1");
  EXPECT_TRUE(op->region(1).results()[1].def->operand(1).def->parent().owner() == nullptr);
}

TEST_F(LoopTest, StopsCarryingWhatIsHandedOn) {
  Instruction* op = loop(b_, {x_, y_}, [&](Builder& b, std::span<const Value> v) {
    return std::vector<Value>{b.add(v[0], v[1]), v[1]};
  });
  main_.set_results({op->result(1), op->result(2)});
  EXPECT_EQ(run(), "while(0, p0)[compare{lt}(a0, 3)][add(a0, 1); add(a1, p1)].1; p1");
}

TEST_F(LoopTest, StaysWhenACarriedValueChanges) {
  Instruction* op = loop(b_, {x_, y_}, [&](Builder& b, std::span<const Value> v) {
    return std::vector<Value>{b.add(v[0], b.negate(v[1])), v[0]};
  });
  main_.set_results({op->result(1)});
  EXPECT_EQ(run(), "unchanged");
}

TEST_F(LoopTest, BroadcastsStayInsideUnlessNeededOutside) {
  const TensorType big{DType::f32, {50, 100}};
  const Value start = b_.broadcast(x_, big.shape);
  Instruction* op = loop(b_, {start}, [&](Builder& b, std::span<const Value> v) {
    // The sum of the rows is smaller than the rows, which are made of y.
    const Value rows = b.broadcast(y_, big.shape);
    const Value sums = b.reduce(rows, Opcode::add, {0});
    const Value scaled = b.multiply(v[0], rows);
    return std::vector<Value>{b.add(scaled, b.broadcast(sums, big.shape))};
  });
  main_.set_results({op->result(1)});
  EXPECT_NE(run(), "unchanged");
  const Computation& body = op->parent().terminator()->operand(0).def->region(1);
  std::string left;
  for (const Instruction* inner : body.instructions()) {
    left += std::string(inner->traits().name) + " ";
  }
  EXPECT_EQ(left,
            "parameter parameter broadcast_in_dim multiply broadcast_in_dim add constant add "
            "return ");
}

TEST_F(LoopTest, LeavesConstantsMasksAndBarriers) {
  const TensorType mask{DType::s32, {50, 50}};
  Instruction* op = loop(b_, {b_.splat(mask, 0)}, [&](Builder& b, std::span<const Value> v) {
    const Value equal = b.compare(b.iota(mask, 0), b.iota(mask, 1), ComparisonDirection::eq);
    const Value barrier = b.op(Opcode::optimization_barrier, {y_})->result();
    b.reduce(barrier, Opcode::add, {0});
    return std::vector<Value>{b.select(equal, v[0], b.splat(mask, 1))};
  });
  main_.set_results({op->result(1)});
  EXPECT_EQ(run(), "unchanged");
}

TEST_F(LoopTest, LeavesNestedLoopsAltogether) {
  Instruction* op = loop(b_, {x_}, [&](Builder& outer, std::span<const Value> v) {
    Instruction* inner = loop(outer, {v[0]}, [&](Builder& b, std::span<const Value> w) {
      return std::vector<Value>{b.add(w[0], b.unary(Opcode::sine, y_))};
    });
    return std::vector<Value>{inner->result(1)};
  });
  main_.set_results({op->result(1)});
  EXPECT_NE(run(), "unchanged");
  const std::vector<Instruction*> program = main_.instructions();
  EXPECT_TRUE(std::ranges::any_of(program, [](Instruction* i) { return i->is(Opcode::sine); }));
}

}  // namespace
}  // namespace systole::hlo
