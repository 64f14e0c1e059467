#include <gtest/gtest.h>

#include "systole/hlo/passes/algebraic_simplifier/rules.h"
#include "systole/hlo/testing/rule_case.h"

namespace systole::hlo {
namespace {

using testing::check_rules;
using testing::RuleCase;
using P = std::span<const Value>;

const TensorType kF{DType::f32, {3}};
const TensorType kS{DType::s32, {3}};
const TensorType kB{DType::pred, {3}};

const RuleCase kCases[] = {
    {"constant_to_the_right",
     {kF},
     [](Builder& b, P p) { return b.add(b.splat(kF, 2), p[0]); },
     "add(p0, broadcast_in_dim[3](2))"},
    {"constant_to_the_right",
     {kB},
     [](Builder& b, P p) { return b.binary(Opcode::and_, b.splat(kB, 1), p[0]); },
     "and(p0, broadcast_in_dim[3](1))"},
    {"constant_to_the_right",
     {kF},
     [](Builder& b, P p) { return b.subtract(b.splat(kF, 2), p[0]); }},
    {"constant_to_the_right",
     {kF},
     [](Builder& b, P) { return b.add(b.splat(kF, 2), b.splat(kF, 3)); }},

    {"compared_constant_to_the_right",
     {kF},
     [](Builder& b, P p) { return b.compare(b.splat(kF, 0), p[0], ComparisonDirection::lt); },
     "compare{gt}(p0, broadcast_in_dim[3](0))"},
    {"compared_constant_to_the_right",
     {kS},
     [](Builder& b, P p) { return b.compare(b.splat(kS, 1), p[0], ComparisonDirection::ge); },
     "compare{le}(p0, broadcast_in_dim[3](1))"},
    {"compared_constant_to_the_right",
     {kF},
     [](Builder& b, P p) { return b.compare(p[0], b.splat(kF, 0), ComparisonDirection::lt); }},

    {"uniform_constant",
     {},
     [](Builder& b, P) {
       return b.constant(Tensor::of<float>({2, 2}, {3, 3, 3, 3}));
     },
     "broadcast_in_dim[2,2](3)"},
    {"uniform_constant",
     {},
     [](Builder& b, P) {
       return b.constant(Tensor::of<float>({3}, {0.0F, 0.0F, -0.0F}));
     }},
    {"uniform_constant", {}, [](Builder& b, P) { return b.constant(Tensor(1.0F)); }},

    {"iota_of_one",
     {},
     [](Builder& b, P) {
       return b.iota({DType::s32, {4, 1}}, 1);
     },
     "broadcast_in_dim[4,1](0)"},
    {"iota_of_one",
     {},
     [](Builder& b, P) {
       return b.iota({DType::s32, {4, 1}}, 0);
     }},

    {"regroup_constants",
     {kS},
     [](Builder& b, P p) { return b.add(b.add(p[0], b.splat(kS, 2)), b.splat(kS, 5)); },
     "add(p0, add(broadcast_in_dim[3](2), broadcast_in_dim[3](5)))"},
    {"regroup_constants",
     {kF},
     [](Builder& b, P p) { return b.maximum(b.maximum(p[0], b.splat(kF, 2)), b.splat(kF, 5)); },
     "maximum(p0, maximum(broadcast_in_dim[3](2), broadcast_in_dim[3](5)))"},
    {"regroup_constants",
     {kF},
     [](Builder& b, P p) { return b.add(b.add(p[0], b.splat(kF, 2)), b.splat(kF, 5)); }},
    {"regroup_constants",
     {kS},
     [](Builder& b, P p) { return b.add(b.multiply(p[0], b.splat(kS, 2)), b.splat(kS, 5)); }},

    {"subtract_constant",
     {kS},
     [](Builder& b, P p) { return b.subtract(p[0], b.splat(kS, 2)); },
     "add(p0, negate(broadcast_in_dim[3](2)))"},
    {"subtract_constant", {kF}, [](Builder& b, P p) { return b.subtract(p[0], b.splat(kF, 2)); }},
    {"subtract_constant", {kS, kS}, [](Builder& b, P p) { return b.subtract(p[0], p[1]); }},
};

TEST(CanonicalRules, Cases) { EXPECT_EQ(check_rules(canonical_rules(), kCases), ""); }

}  // namespace
}  // namespace systole::hlo
