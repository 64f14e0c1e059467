#include <gtest/gtest.h>

#include "systole/hlo/passes/algebraic_simplifier/rules.h"
#include "systole/hlo/testing/rule_case.h"

namespace systole::hlo {
namespace {

using testing::check_rules;
using testing::RuleCase;
using P = std::span<const Value>;
using Direction = ComparisonDirection;

const TensorType kF{DType::f32, {8}};
const TensorType kS{DType::s32, {8}};
const TensorType kB{DType::pred, {8}};
const TensorType kPred{DType::pred, {}};

auto compared_with_itself(Direction direction) {
  return [=](Builder& b, P p) { return b.compare(p[0], p[0], direction); };
}
auto not_compared(Direction direction) {
  return [=](Builder& b, P p) { return b.unary(Opcode::not_, b.compare(p[0], p[1], direction)); };
}
auto converted_against(Direction direction, double number) {
  return [=](Builder& b, P p) {
    const Value x = b.convert(p[0], DType::f32);
    return b.compare(x, b.splat_like(x, number), direction);
  };
}
auto against(Direction direction, double number) {
  return [=](Builder& b, P p) { return b.compare(p[0], b.splat_like(p[0], number), direction); };
}

const RuleCase kCases[] = {
    {"compare_itself", {kS}, compared_with_itself(Direction::le), "broadcast_in_dim[8](1)"},
    {"compare_itself", {kB}, compared_with_itself(Direction::ne), "broadcast_in_dim[8](0)"},
    {"compare_itself", {kF}, compared_with_itself(Direction::eq)},

    {"not_compare", {kS, kS}, not_compared(Direction::lt), "compare{ge}(p0, p1)"},
    {"not_compare", {kF, kF}, not_compared(Direction::eq), "compare{ne}(p0, p1)"},
    {"not_compare", {kF, kF}, not_compared(Direction::lt)},

    {"compare_converted_predicate", {kB}, converted_against(Direction::ne, 0), "p0"},
    {"compare_converted_predicate", {kB}, converted_against(Direction::gt, 0), "p0"},
    {"compare_converted_predicate", {kB}, converted_against(Direction::eq, 0), "not(p0)"},
    {"compare_converted_predicate", {kB}, converted_against(Direction::ge, 0)},
    {"compare_converted_predicate", {kB}, converted_against(Direction::ne, 1)},
    {"compare_converted_predicate", {kS}, converted_against(Direction::ne, 0)},

    {"compare_with_constant_predicate", {kB}, against(Direction::eq, 1), "p0"},
    {"compare_with_constant_predicate", {kB}, against(Direction::ne, 0), "p0"},
    {"compare_with_constant_predicate", {kB}, against(Direction::eq, 0), "not(p0)"},
    {"compare_with_constant_predicate", {kB}, against(Direction::ne, 1), "not(p0)"},
    {"compare_with_constant_predicate", {kB}, against(Direction::lt, 1)},
    {"compare_with_constant_predicate", {kS}, against(Direction::eq, 1)},

    {"select_constant",
     {kF, kF},
     [](Builder& b, P p) { return b.select(b.splat(kB, 1), p[0], p[1]); },
     "p0"},
    {"select_constant",
     {kF, kF},
     [](Builder& b, P p) { return b.select(b.splat(kPred, 0), p[0], p[1]); },
     "p1"},
    {"select_constant", {kB, kF, kF}, [](Builder& b, P p) { return b.select(p[0], p[1], p[2]); }},

    {"select_same", {kB, kF}, [](Builder& b, P p) { return b.select(p[0], p[1], p[1]); }, "p1"},
    {"select_same", {kB, kF, kF}, [](Builder& b, P p) { return b.select(p[0], p[1], p[2]); }},

    {"select_not",
     {kB, kF, kF},
     [](Builder& b, P p) { return b.select(b.unary(Opcode::not_, p[0]), p[1], p[2]); },
     "select(p0, p2, p1)"},
    {"select_not", {kB, kF, kF}, [](Builder& b, P p) { return b.select(p[0], p[1], p[2]); }},

    {"select_predicate",
     {kB},
     [](Builder& b, P p) { return b.select(p[0], b.splat(kB, 1), b.splat(kB, 0)); },
     "p0"},
    {"select_predicate",
     {kB},
     [](Builder& b, P p) { return b.select(p[0], b.splat(kB, 0), b.splat(kB, 1)); },
     "not(p0)"},
    {"select_predicate",
     {kPred},
     [](Builder& b, P p) { return b.select(p[0], b.splat(kB, 1), b.splat(kB, 0)); }},
    {"select_predicate",
     {kB},
     [](Builder& b, P p) { return b.select(p[0], b.splat(kF, 1), b.splat(kF, 0)); }},

    {"select_of_select",
     {kB, kF, kF, kF},
     [](Builder& b, P p) { return b.select(p[0], b.select(p[0], p[1], p[2]), p[3]); },
     "select(p0, p1, p3)"},
    {"select_of_select",
     {kB, kF, kF, kF},
     [](Builder& b, P p) { return b.select(p[0], p[1], b.select(p[0], p[2], p[3])); },
     "select(p0, p1, p3)"},
    {"select_of_select",
     {kB, kF, kF, kB},
     [](Builder& b, P p) { return b.select(p[0], b.select(p[3], p[1], p[2]), p[1]); }},

    {"select_by_broadcast_scalar",
     {kPred, kF, kF},
     [](Builder& b, P p) { return b.select(b.broadcast(p[0], {8}), p[1], p[2]); },
     "select(p0, p1, p2)"},
    {"select_by_broadcast_scalar",
     {kB, kF, kF},
     [](Builder& b, P p) { return b.select(p[0], p[1], p[2]); }},
};

TEST(LogicRules, Cases) { EXPECT_EQ(check_rules(logic_rules(), kCases), ""); }

}  // namespace
}  // namespace systole::hlo
