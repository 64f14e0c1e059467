#include <gtest/gtest.h>

#include "systole/hlo/passes/algebraic_simplifier/rules.h"
#include "systole/hlo/testing/rule_case.h"

namespace systole::hlo {
namespace {

using testing::check_rules;
using testing::RuleCase;
using P = std::span<const Value>;

const TensorType kF23{DType::f32, {2, 3}};
const TensorType kF34{DType::f32, {3, 4}};
const TensorType kF324{DType::f32, {3, 2, 4}};
const TensorType kH23{DType::bf16, {2, 3}};
const TensorType kH34{DType::bf16, {3, 4}};

const DotAttrs kMatmul{.lhs_contracting_dimensions = {1}, .rhs_contracting_dimensions = {0}};

const RuleCase kCases[] = {
    {"dot_of_transpose",
     {{DType::f32, {3, 2}}, kF34},
     [](Builder& b, P p) {
       return b.dot_general(b.transpose(p[0], {1, 0}), p[1], kMatmul);
     },
     "dot_general{;0 x ;0}(p0, p1)"},
    {"dot_of_transpose",
     {kF23, {DType::f32, {4, 3}}},
     [](Builder& b, P p) {
       return b.dot_general(p[0], b.transpose(p[1], {1, 0}), kMatmul);
     },
     "dot_general{;1 x ;1}(p0, p1)"},
    {"dot_of_transpose",
     {kF324, {DType::f32, {2, 4, 5}}},
     [](Builder& b, P p) {
       return b.dot_general(b.transpose(p[0], {1, 0, 2}), p[1],
                            {.lhs_batching_dimensions = {0},
                             .rhs_batching_dimensions = {0},
                             .lhs_contracting_dimensions = {2},
                             .rhs_contracting_dimensions = {1}});
     },
     "dot_general{1;2 x 0;1}(p0, p1)"},
    // The free axes of the left operand would change their order in the result.
    {"dot_of_transpose",
     {kF324, {DType::f32, {4, 5}}},
     [](Builder& b, P p) {
       return b.dot_general(b.transpose(p[0], {1, 0, 2}), p[1],
                            {.lhs_contracting_dimensions = {2}, .rhs_contracting_dimensions = {0}});
     }},

    // The contracted axes would be in another order than those of the right operand.
    {"dot_of_transpose",
     {kF324, {DType::f32, {2, 3, 5}}},
     [](Builder& b, P p) {
       return b.dot_general(
           b.transpose(p[0], {1, 0, 2}), p[1],
           {.lhs_contracting_dimensions = {0, 1}, .rhs_contracting_dimensions = {0, 1}});
     }},

    {"dot_without_unit_axes",
     {{DType::f32, {1, 2, 3}}, {DType::f32, {1, 3, 4}}},
     [](Builder& b, P p) {
       return b.dot_general(p[0], p[1],
                            {.lhs_batching_dimensions = {0},
                             .rhs_batching_dimensions = {0},
                             .lhs_contracting_dimensions = {2},
                             .rhs_contracting_dimensions = {1}});
     },
     "reshape[1,2,4](dot_general{;1 x ;0}(reshape[2,3](p0), reshape[3,4](p1)))"},
    {"dot_without_unit_axes",
     {{DType::f32, {2, 1, 3}}, {DType::f32, {3, 1, 4}}},
     [](Builder& b, P p) {
       return b.dot_general(
           p[0], p[1],
           {.lhs_contracting_dimensions = {1, 2}, .rhs_contracting_dimensions = {1, 0}});
     },
     "dot_general{;1 x ;0}(reshape[2,3](p0), reshape[3,4](p1))"},
    {"dot_without_unit_axes",
     {{DType::f32, {2, 1}}, {DType::f32, {1, 4}}},
     [](Builder& b, P p) { return b.dot_general(p[0], p[1], kMatmul); }},

    {"dot_of_converted",
     {kH23, kH34},
     [](Builder& b, P p) {
       return b.dot_general(b.convert(p[0], DType::f32), b.convert(p[1], DType::f32), kMatmul);
     },
     "dot_general{;1 x ;0}(p0, p1)"},
    {"dot_of_converted",
     {kH23, kF34},
     [](Builder& b, P p) { return b.dot_general(b.convert(p[0], DType::f32), p[1], kMatmul); }},
    {"dot_of_converted",
     {kF23, kF34},
     [](Builder& b, P p) {
       return b.dot_general(b.convert(p[0], DType::f64), b.convert(p[1], DType::f64), kMatmul);
     }},
};

TEST(DotRules, Cases) {
  // The rule keeps the products; the reference sums them in another width.
  constexpr std::string_view kInexact[] = {"dot_of_converted"};
  EXPECT_EQ(check_rules(dot_rules(), kCases, kInexact), "");
}

}  // namespace
}  // namespace systole::hlo
