#include <gtest/gtest.h>

#include "systole/hlo/passes/algebraic_simplifier/rules.h"
#include "systole/hlo/testing/rule_case.h"

namespace systole::hlo {
namespace {

using testing::check_rules;
using testing::RuleCase;
using P = std::span<const Value>;

const TensorType kF{DType::f32, {8}};
const TensorType kG{DType::f16, {8}};
const TensorType kH{DType::bf16, {8}};
const TensorType kS{DType::s32, {8}};
const TensorType kU{DType::u8, {8}};
const TensorType kC{DType::c64, {}};

auto with(Opcode opcode, double number) {
  return [=](Builder& b, P p) { return b.binary(opcode, p[0], b.splat_like(p[0], number)); };
}
auto of_negated(Opcode opcode, bool left, bool right) {
  return [=](Builder& b, P p) {
    return b.binary(opcode, left ? b.negate(p[0]) : p[0], right ? b.negate(p[1]) : p[1]);
  };
}

const RuleCase kCases[] = {
    {"multiply_by_minus_one", {kF}, with(Opcode::multiply, -1), "negate(p0)"},
    {"multiply_by_minus_one", {kS}, with(Opcode::multiply, -1), "negate(p0)"},
    {"multiply_by_minus_one", {kF}, with(Opcode::multiply, 1)},
    {"multiply_by_minus_one", {kU}, with(Opcode::multiply, -1)},

    {"divide_by_minus_one", {kF}, with(Opcode::divide, -1), "negate(p0)"},
    {"divide_by_minus_one", {kS}, with(Opcode::divide, -1), "negate(p0)"},
    {"divide_by_minus_one", {kU}, with(Opcode::divide, 255)},

    {"add_negated", {kF, kF}, of_negated(Opcode::add, false, true), "subtract(p0, p1)"},
    {"add_negated", {kF, kF}, of_negated(Opcode::add, true, false), "subtract(p1, p0)"},
    {"add_negated", {kU, kU}, of_negated(Opcode::add, true, false), "subtract(p1, p0)"},
    {"add_negated", {kF, kF}, of_negated(Opcode::add, false, false)},
    {"add_negated", {kS}, [](Builder& b, P p) { return b.add(p[0], b.negate(b.splat(kS, 2))); }},

    {"subtract_negated", {kF, kF}, of_negated(Opcode::subtract, false, true), "add(p0, p1)"},
    {"subtract_negated", {kF, kF}, of_negated(Opcode::subtract, true, false)},

    {"subtract_from_zero",
     {kF},
     [](Builder& b, P p) { return b.subtract(b.splat(kF, -0.0), p[0]); },
     "negate(p0)"},
    {"subtract_from_zero",
     {kS},
     [](Builder& b, P p) { return b.subtract(b.splat(kS, 0), p[0]); },
     "negate(p0)"},
    {"subtract_from_zero",
     {kF},
     [](Builder& b, P p) { return b.subtract(b.splat(kF, 0.0), p[0]); }},

    {"two_negated_factors", {kF, kF}, of_negated(Opcode::multiply, true, true), "multiply(p0, p1)"},
    {"two_negated_factors", {kS, kS}, of_negated(Opcode::multiply, true, true), "multiply(p0, p1)"},
    {"two_negated_factors", {kF, kF}, of_negated(Opcode::multiply, true, false)},

    {"two_negated_terms", {kF, kF}, of_negated(Opcode::divide, true, true), "divide(p0, p1)"},
    {"two_negated_terms", {kS, kS}, of_negated(Opcode::divide, true, true)},
    {"two_negated_terms", {kF, kF}, of_negated(Opcode::divide, false, true)},

    {"negated_factor_of_constant",
     {kF},
     [](Builder& b, P p) { return b.multiply(b.negate(p[0]), b.splat(kF, 3)); },
     "multiply(p0, negate(broadcast_in_dim[8](3)))"},
    {"negated_factor_of_constant", {kF, kF}, of_negated(Opcode::multiply, true, false)},

    {"negated_dividend_of_constant",
     {kF},
     [](Builder& b, P p) { return b.divide(b.negate(p[0]), b.splat(kF, 3)); },
     "divide(p0, negate(broadcast_in_dim[8](3)))"},
    {"negated_dividend_of_constant",
     {kS},
     [](Builder& b, P p) { return b.divide(b.negate(p[0]), b.splat(kS, 3)); }},

    {"abs_of_negated",
     {kS},
     [](Builder& b, P p) { return b.unary(Opcode::abs, b.negate(p[0])); },
     "abs(p0)"},
    {"abs_of_negated",
     {kC},
     [](Builder& b, P p) { return b.op(Opcode::abs, {b.negate(p[0])})->result(); }},

    {"divide_by_power_of_two",
     {kF},
     with(Opcode::divide, 4),
     "multiply(p0, broadcast_in_dim[8](0.25))"},
    {"divide_by_power_of_two",
     {kH},
     with(Opcode::divide, -0.5),
     "multiply(p0, broadcast_in_dim[8](-2))"},
    {"divide_by_power_of_two", {kF}, with(Opcode::divide, 3)},
    {"divide_by_power_of_two", {kF}, with(Opcode::divide, 0)},
    {"divide_by_power_of_two", {kS}, with(Opcode::divide, 4)},
    // The reciprocal would be subnormal.
    {"divide_by_power_of_two", {kG}, with(Opcode::divide, 32768)},

    {"square", {kH}, with(Opcode::power, 2), "multiply(p0, p0)"},
    {"square", {kS}, with(Opcode::power, 2), "multiply(p0, p0)"},
    {"square", {kF}, with(Opcode::power, 2), "multiply(p0, p0)"},
    {"square", {kF}, with(Opcode::power, 3)},
    {"square", {kF}, with(Opcode::power, 0.5)},

    {"power_of_zero", {kF}, with(Opcode::power, 0), "broadcast_in_dim[8](1)"},
    {"power_of_zero", {kS}, with(Opcode::power, 0), "broadcast_in_dim[8](1)"},
    {"power_of_zero", {kF}, with(Opcode::power, 0.5)},
};

TEST(ArithmeticRules, Cases) { EXPECT_EQ(check_rules(arithmetic_rules(), kCases), ""); }

}  // namespace
}  // namespace systole::hlo
