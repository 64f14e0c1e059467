#include <gtest/gtest.h>

#include "systole/hlo/passes/algebraic_simplifier/rules.h"
#include "systole/hlo/testing/rule_case.h"

namespace systole::hlo {
namespace {

using testing::check_rules;
using testing::RuleCase;
using P = std::span<const Value>;

const TensorType kF{DType::f32, {3}};
const TensorType kF23{DType::f32, {2, 3}};
const TensorType kF34{DType::f32, {3, 4}};
const TensorType kF234{DType::f32, {2, 3, 4}};
const TensorType kF245{DType::f32, {2, 4, 5}};
const TensorType kF213{DType::f32, {2, 1, 3}};

auto transposed(const Dims& permutation) {
  return [=](Builder& b, P p) { return b.transpose(p[0], permutation); };
}

const DotAttrs kMatmul{.lhs_contracting_dimensions = {1}, .rhs_contracting_dimensions = {0}};
const DotAttrs kBatched{.lhs_batching_dimensions = {0},
                        .rhs_batching_dimensions = {0},
                        .lhs_contracting_dimensions = {2},
                        .rhs_contracting_dimensions = {1}};

const RuleCase kCases[] = {
    {"transpose_to_same", {kF23}, transposed({0, 1}), "p0"},
    {"transpose_to_same", {kF23}, transposed({1, 0})},

    {"transpose_of_transpose",
     {kF234},
     [](Builder& b, P p) {
       return b.transpose(b.transpose(p[0], {2, 0, 1}), {1, 0, 2});
     },
     "transpose{0,2,1}(p0)"},
    {"transpose_of_transpose", {kF23}, transposed({1, 0})},

    {"transpose_as_reshape", {kF213}, transposed({1, 0, 2}), "reshape[1,2,3](p0)"},
    {"transpose_as_reshape", {kF213}, transposed({2, 1, 0})},

    {"transpose_of_broadcast",
     {kF},
     [](Builder& b, P p) {
       return b.transpose(b.broadcast(p[0], {2, 3}), {1, 0});
     },
     "broadcast_in_dim[3,2]{0}(p0)"},
    {"transpose_of_broadcast", {kF23}, transposed({1, 0})},

    {"transpose_of_dot",
     {kF23, kF34},
     [](Builder& b, P p) {
       return b.transpose(b.dot_general(p[0], p[1], kMatmul), {1, 0});
     },
     "dot_general{;0 x ;1}(p1, p0)"},
    {"transpose_of_dot",
     {kF234, kF245},
     [](Builder& b, P p) {
       return b.transpose(b.dot_general(p[0], p[1], kBatched), {0, 2, 1});
     },
     "dot_general{0;1 x 0;2}(p1, p0)"},
    {"transpose_of_dot",
     {kF234, kF245},
     [](Builder& b, P p) {
       return b.transpose(b.dot_general(p[0], p[1], kBatched), {2, 1, 0});
     }},
    {"transpose_of_dot",
     {kF234, kF245},
     [](Builder& b, P p) {
       return b.transpose(b.dot_general(p[0], p[1], kBatched), {2, 0, 1});
     },
     "transpose{1,0,2}(dot_general{0;1 x 0;2}(p1, p0))"},
    {"transpose_of_dot",
     {kF23, {DType::f32, {3, 2}}},
     [](Builder& b, P p) {
       const Value dot = b.dot_general(p[0], p[1], kMatmul);
       return b.add(dot, b.transpose(dot, {1, 0}));
     }},

    {"transpose_of_added_axes",
     {kF234},
     [](Builder& b, P p) {
       return b.transpose(b.reshape(p[0], {1, 2, 3, 1, 4}), {4, 0, 3, 1, 2});
     },
     "reshape[4,1,1,2,3](transpose{2,0,1}(p0))"},
    {"transpose_of_added_axes",
     {kF234},
     [](Builder& b, P p) {
       return b.transpose(b.reshape(p[0], {1, 6, 4}), {2, 0, 1});
     }},

    {"reverse_of_nothing", {kF213}, [](Builder& b, P p) { return b.reverse(p[0], {1}); }, "p0"},
    {"reverse_of_nothing",
     {kF213},
     [](Builder& b, P p) {
       return b.reverse(p[0], {0, 1});
     }},

    {"reverse_of_reverse",
     {kF23},
     [](Builder& b, P p) {
       return b.reverse(b.reverse(p[0], {0}), {1, 0});
     },
     "reverse{1}(p0)"},
    {"reverse_of_reverse",
     {kF23},
     [](Builder& b, P p) { return b.reverse(b.reverse(p[0], {1}), {1}); },
     "p0"},
    {"reverse_of_reverse", {kF23}, [](Builder& b, P p) { return b.reverse(p[0], {1}); }},

    {"reverse_of_broadcast",
     {kF},
     [](Builder& b, P p) {
       return b.reverse(b.broadcast(p[0], {2, 3}), {0, 1});
     },
     "reverse{1}(broadcast_in_dim[2,3]{1}(p0))"},
    {"reverse_of_broadcast",
     {kF},
     [](Builder& b, P p) {
       return b.reverse(b.broadcast(p[0], {2, 3}), {0});
     },
     "broadcast_in_dim[2,3]{1}(p0)"},
    {"reverse_of_broadcast",
     {kF},
     [](Builder& b, P p) {
       return b.reverse(b.broadcast(p[0], {2, 3}), {1});
     }},
};

TEST(TransposeRules, Cases) { EXPECT_EQ(check_rules(transpose_rules(), kCases), ""); }

}  // namespace
}  // namespace systole::hlo
