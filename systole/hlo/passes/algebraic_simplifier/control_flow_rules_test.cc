#include <gtest/gtest.h>

#include "systole/hlo/passes/algebraic_simplifier/rules.h"
#include "systole/hlo/testing/rule_case.h"

namespace systole::hlo {
namespace {

using testing::check_rules;
using testing::RuleCase;
using P = std::span<const Value>;

const TensorType kF{DType::f32, {3}};
const TensorType kI{DType::s32, {}};
const TensorType kPred{DType::pred, {}};

// Branches that give x, -x, -(-x)...
Value branches(Builder& b, Opcode opcode, Value chosen, Value x, int count) {
  return b
      .op_with_regions(opcode, {chosen}, NoAttrs{},
                       [&](Instruction& op) {
                         for (int i = 0; i < count; ++i) {
                           Computation& region = op.add_region();
                           Value value = x;
                           for (int k = 0; k < i; ++k) value = Builder(region).negate(value);
                           region.set_results({value});
                         }
                       })
      ->result();
}

// for (i = first; i < limit; ++i) x = x + x
Value loop(Builder& b, Value first, Value x, double limit) {
  const auto fill = [&](Instruction& op) {
    for (int r = 0; r < 2; ++r) {
      Computation& region = op.add_region();
      const Value i = region.add_parameter(first.type());
      const Value y = region.add_parameter(x.type());
      Builder inner(region);
      if (r == 0) {
        region.set_results(
            {inner.compare(i, inner.scalar(DType::s32, limit), ComparisonDirection::lt)});
      } else {
        region.set_results({inner.add(i, inner.scalar(DType::s32, 1)), inner.add(y, y)});
      }
    }
  };
  return b.op_with_regions(Opcode::while_, {first, x}, NoAttrs{}, fill)->result(1);
}

auto looped(double first, double limit) {
  return [=](Builder& b, P p) { return loop(b, b.scalar(DType::s32, first), p[0], limit); };
}

const RuleCase kCases[] = {
    {"if_constant",
     {kF},
     [](Builder& b, P p) { return branches(b, Opcode::if_, b.scalar(DType::pred, 1), p[0], 2); },
     "p0"},
    {"if_constant",
     {kF},
     [](Builder& b, P p) { return branches(b, Opcode::if_, b.scalar(DType::pred, 0), p[0], 2); },
     "negate(p0)"},
    {"if_constant",
     {kPred, kF},
     [](Builder& b, P p) { return branches(b, Opcode::if_, p[0], p[1], 2); }},

    {"case_constant",
     {kF},
     [](Builder& b, P p) { return branches(b, Opcode::case_, b.scalar(DType::s32, 1), p[0], 3); },
     "negate(p0)"},
    {"case_constant",
     {kF},
     [](Builder& b, P p) { return branches(b, Opcode::case_, b.scalar(DType::s32, -1), p[0], 3); },
     "negate(negate(p0))"},
    {"case_constant",
     {kI, kF},
     [](Builder& b, P p) { return branches(b, Opcode::case_, p[0], p[1], 1); },
     "p1"},
    {"case_constant",
     {kI, kF},
     [](Builder& b, P p) { return branches(b, Opcode::case_, p[0], p[1], 2); }},

    {"while_never", {kF}, looped(2, 2), "p0"},
    {"while_never", {kF}, looped(1, 2)},
    {"while_never", {kF, kI}, [](Builder& b, P p) { return loop(b, p[1], p[0], 2); }},

    {"while_once", {kF}, looped(1, 2), "add(p0, p0)"},
    {"while_once", {kF}, looped(0, 2)},
    {"while_once", {kF}, looped(2, 2)},
};

TEST(ControlFlowRules, Cases) { EXPECT_EQ(check_rules(control_flow_rules(), kCases), ""); }

}  // namespace
}  // namespace systole::hlo
