#include <gtest/gtest.h>

#include "systole/hlo/passes/algebraic_simplifier/rules.h"
#include "systole/hlo/testing/rule_case.h"

namespace systole::hlo {
namespace {

using testing::check_rules;
using testing::RuleCase;
using P = std::span<const Value>;

const TensorType kI{DType::s32, {}};
const TensorType kF45{DType::f32, {4, 5}};
const TensorType kF12{DType::f32, {1, 2}};

Value gathered(Builder& b, Value x, Value indices) {
  return b
      .op(Opcode::gather, {x, indices},
          GatherAttrs{.offset_dims = {1},
                      .collapsed_slice_dims = {0},
                      .start_index_map = {0},
                      .index_vector_dim = 1,
                      .slice_sizes = {1, 5}})
      ->result();
}

const RuleCase kCases[] = {
    {"dynamic_slice_at_constants",
     {kF45},
     [](Builder& b, P p) {
       const Value starts[] = {b.scalar(DType::s32, 1), b.scalar(DType::s32, 9)};
       return b.dynamic_slice(p[0], starts, {2, 2});
     },
     "slice{1:3,3:5}(p0)"},
    {"dynamic_slice_at_constants",
     {kF45, kI},
     [](Builder& b, P p) {
       const Value starts[] = {b.scalar(DType::s32, -3), p[1]};
       return b.dynamic_slice(p[0], starts, {2, 5});
     },
     "slice{0:2,0:5}(p0)"},
    {"dynamic_slice_at_constants",
     {kF45, kI},
     [](Builder& b, P p) {
       const Value starts[] = {b.scalar(DType::s32, 1), p[1]};
       return b.dynamic_slice(p[0], starts, {2, 2});
     }},

    {"update_of_everything",
     {kF45, kF45, kI},
     [](Builder& b, P p) {
       const Value starts[] = {p[2], p[2]};
       return b.dynamic_update_slice(p[0], p[1], starts);
     },
     "p1"},
    {"update_of_everything",
     {kF45, kF12, kI},
     [](Builder& b, P p) {
       const Value starts[] = {p[2], p[2]};
       return b.dynamic_update_slice(p[0], p[1], starts);
     }},

    {"update_by_own_slice",
     {kF45, kI},
     [](Builder& b, P p) {
       const Value starts[] = {p[1], p[1]};
       return b.dynamic_update_slice(p[0], b.dynamic_slice(p[0], starts, {2, 2}), starts);
     },
     "p0"},
    {"update_by_own_slice",
     {kF45, kI, kI},
     [](Builder& b, P p) {
       const Value from[] = {p[1], p[1]};
       const Value to[] = {p[1], p[2]};
       return b.dynamic_update_slice(p[0], b.dynamic_slice(p[0], from, {2, 2}), to);
     }},

    {"add_of_update",
     {kF45, kF12, kI},
     [](Builder& b, P p) {
       const Value starts[] = {p[2], p[2]};
       return b.add(b.dynamic_update_slice(b.splat_like(p[0], -0.0), p[1], starts), p[0]);
     },
     "dynamic_update_slice(p0, add(dynamic_slice{1,2}(p0, p2, p2), p1), p2, p2)"},
    {"add_of_update",
     {kF45, kF12, kI},
     [](Builder& b, P p) {
       const Value starts[] = {p[2], p[2]};
       return b.add(p[0], b.dynamic_update_slice(b.splat_like(p[0], 0.0), p[1], starts));
     }},

    {"gather_at_constant",
     {kF45},
     [](Builder& b, P p) {
       return gathered(b, p[0], b.constant(Tensor::of<int>({1, 1}, {2})));
     },
     "reshape[1,5](slice{2:3,0:5}(p0))"},
    {"gather_at_constant",
     {kF45},
     [](Builder& b, P p) {
       return gathered(b, p[0], b.constant(Tensor::of<int>({1, 1}, {7})));
     },
     "reshape[1,5](slice{3:4,0:5}(p0))"},
    {"gather_at_constant",
     {kF45},
     [](Builder& b, P p) {
       return gathered(b, p[0], b.constant(Tensor::of<int>({2, 1}, {2, 0})));
     }},
    {"gather_at_constant",
     {kF45, {DType::s32, {1, 1}}},
     [](Builder& b, P p) { return gathered(b, p[0], p[1]); }},
};

TEST(DynamicSliceRules, Cases) { EXPECT_EQ(check_rules(dynamic_slice_rules(), kCases), ""); }

}  // namespace
}  // namespace systole::hlo
