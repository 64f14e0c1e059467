#include <gtest/gtest.h>

#include <limits>

#include "systole/hlo/passes/algebraic_simplifier/rules.h"
#include "systole/hlo/testing/rule_case.h"

namespace systole::hlo {
namespace {

using testing::check_rules;
using testing::RuleCase;
using P = std::span<const Value>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const TensorType kF{DType::f32, {8}};
const TensorType kH{DType::bf16, {8}};
const TensorType kS{DType::s32, {8}};
const TensorType kU{DType::u8, {8}};
const TensorType kB{DType::pred, {8}};
const TensorType kC{DType::c64, {}};

// x op the number
auto with(Opcode opcode, double number) {
  return [=](Builder& b, P p) { return b.binary(opcode, p[0], b.splat_like(p[0], number)); };
}
auto with_itself(Opcode opcode) {
  return [=](Builder& b, P p) { return b.binary(opcode, p[0], p[0]); };
}
auto twice(Opcode opcode) {
  return [=](Builder& b, P p) { return b.unary(opcode, b.unary(opcode, p[0])); };
}

auto custom_call(const char* target, const TensorType& result) {
  return [=](Builder& b, P p) {
    CustomCallAttrs attrs;
    attrs.call_target_name = target;
    attrs.has_side_effect = true;
    return b.op(Opcode::custom_call, {p[0]}, std::move(attrs), {result})->result();
  };
}

const RuleCase kCases[] = {
    {"right_neutral_element", {kS}, with(Opcode::add, 0), "p0"},
    {"right_neutral_element", {kF}, with(Opcode::add, -0.0), "p0"},
    {"right_neutral_element", {kF}, with(Opcode::add, 0.0)},
    {"right_neutral_element", {kF}, with(Opcode::subtract, 0.0), "p0"},
    {"right_neutral_element", {kF}, with(Opcode::subtract, -0.0)},
    {"right_neutral_element", {kH}, with(Opcode::multiply, 1), "p0"},
    {"right_neutral_element", {kS}, with(Opcode::multiply, 1), "p0"},
    {"right_neutral_element", {kF}, with(Opcode::multiply, 0)},
    {"right_neutral_element", {kF}, with(Opcode::divide, 1), "p0"},
    {"right_neutral_element", {kF}, with(Opcode::power, 1), "p0"},
    {"right_neutral_element", {kF}, with(Opcode::maximum, -kInfinity), "p0"},
    {"right_neutral_element", {kF}, with(Opcode::maximum, -1e38)},
    {"right_neutral_element", {kS}, with(Opcode::maximum, -kInfinity), "p0"},
    {"right_neutral_element", {kU}, with(Opcode::minimum, 255), "p0"},
    {"right_neutral_element", {kB}, with(Opcode::maximum, 0), "p0"},
    {"right_neutral_element", {kB}, with(Opcode::minimum, 1), "p0"},
    {"right_neutral_element", {kS}, with(Opcode::and_, -1), "p0"},
    {"right_neutral_element", {kU}, with(Opcode::and_, 255), "p0"},
    {"right_neutral_element", {kU}, with(Opcode::and_, 127)},
    {"right_neutral_element", {kB}, with(Opcode::or_, 0), "p0"},
    {"right_neutral_element", {kS}, with(Opcode::xor_, 0), "p0"},
    {"right_neutral_element", {kS}, with(Opcode::shift_left, 0), "p0"},
    {"right_neutral_element", {kC}, with(Opcode::multiply, 1)},
    {"right_neutral_element",
     {kS},
     [](Builder& b, P p) { return b.subtract(b.splat(kS, 0), p[0]); }},

    {"right_absorbing_element", {kS}, with(Opcode::multiply, 0), "broadcast_in_dim[8](0)"},
    {"right_absorbing_element", {kF}, with(Opcode::multiply, 0)},
    {"right_absorbing_element", {kB}, with(Opcode::and_, 0), "broadcast_in_dim[8](0)"},
    {"right_absorbing_element", {kB}, with(Opcode::or_, 1), "broadcast_in_dim[8](1)"},
    {"right_absorbing_element", {kS}, with(Opcode::or_, -1), "broadcast_in_dim[8](-1)"},
    {"right_absorbing_element", {kU}, with(Opcode::maximum, 255), "broadcast_in_dim[8](255)"},
    {"right_absorbing_element", {kF}, with(Opcode::maximum, kInfinity)},

    {"add_positive_zero",
     {kF},
     [](Builder& b, P p) { return b.add(b.unary(Opcode::abs, p[0]), b.splat(kF, 0)); },
     "abs(p0)"},
    {"add_positive_zero",
     {kF},
     [](Builder& b, P p) { return b.add(b.add(p[0], b.splat(kF, 0)), b.splat(kF, 0)); },
     "add(p0, broadcast_in_dim[8](0))"},
    {"add_positive_zero",
     {kF},
     [](Builder& b, P p) { return b.add(b.multiply(p[0], p[0]), b.splat(kF, 0)); },
     "multiply(p0, p0)"},
    {"add_positive_zero",
     {kS},
     [](Builder& b, P p) { return b.add(b.convert(p[0], DType::f32), b.splat(kF, 0)); },
     "convert:f32(p0)"},
    {"add_positive_zero", {kF}, with(Opcode::add, 0.0)},

    {"idempotent_pair", {kF}, with_itself(Opcode::maximum), "p0"},
    {"idempotent_pair", {kB}, with_itself(Opcode::and_), "p0"},
    {"idempotent_pair", {kF, kF}, [](Builder& b, P p) { return b.maximum(p[0], p[1]); }},
    {"idempotent_pair", {kF}, with_itself(Opcode::add)},

    {"idempotent_twice", {kF}, twice(Opcode::floor), "floor(p0)"},
    {"idempotent_twice",
     {kC},
     [](Builder& b, P p) {
       const Value once = b.op(Opcode::abs, {p[0]})->result();
       return b.op(Opcode::abs, {once})->result();
     },
     "abs(p0)"},
    {"idempotent_twice", {kF}, twice(Opcode::sine)},
    {"idempotent_twice",
     {kF},
     [](Builder& b, P p) { return b.unary(Opcode::ceil, b.unary(Opcode::floor, p[0])); }},

    {"involution_twice", {kF}, twice(Opcode::negate), "p0"},
    {"involution_twice", {kB}, twice(Opcode::not_), "p0"},
    {"involution_twice", {kF}, twice(Opcode::abs)},

    {"subtract_itself", {kS}, with_itself(Opcode::subtract), "broadcast_in_dim[8](0)"},
    {"subtract_itself", {kF}, with_itself(Opcode::subtract)},
    {"subtract_itself", {kS, kS}, [](Builder& b, P p) { return b.subtract(p[0], p[1]); }},

    {"xor_itself", {kU}, with_itself(Opcode::xor_), "broadcast_in_dim[8](0)"},
    {"xor_itself", {kU, kU}, [](Builder& b, P p) { return b.binary(Opcode::xor_, p[0], p[1]); }},

    {"xor_all_ones", {kB}, with(Opcode::xor_, 1), "not(p0)"},
    {"xor_all_ones", {kS}, with(Opcode::xor_, -1), "not(p0)"},
    {"xor_all_ones", {kS}, with(Opcode::xor_, 1)},

    {"remainder_by_one", {kS}, with(Opcode::remainder, 1), "broadcast_in_dim[8](0)"},
    {"remainder_by_one", {kF}, with(Opcode::remainder, 1)},
    {"remainder_by_one", {kS}, with(Opcode::remainder, 2)},

    {"clamp_by_nothing",
     {kF},
     [](Builder& b, P p) {
       const Value low = b.scalar(DType::f32, -kInfinity);
       return b.op(Opcode::clamp, {low, p[0], b.scalar(DType::f32, kInfinity)})->result();
     },
     "p0"},
    {"clamp_by_nothing",
     {kF},
     [](Builder& b, P p) {
       const Value low = b.scalar(DType::f32, 0);
       return b.op(Opcode::clamp, {low, p[0], b.scalar(DType::f32, kInfinity)})->result();
     }},

    {"placement", {kF}, custom_call("Sharding", kF), "p0"},
    {"placement", {kF}, custom_call("xla.sdy.LocalToGlobalShape", kF), "p0"},
    {"placement", {kF}, custom_call("SPMDFullToShardShape", {DType::f32, {4}})},
    {"placement", {kF}, custom_call("unknown", kF)},
};

TEST(IdentityRules, Cases) { EXPECT_EQ(check_rules(identity_rules(), kCases), ""); }

}  // namespace
}  // namespace systole::hlo
