#include <gtest/gtest.h>

#include "systole/hlo/passes/algebraic_simplifier/rules.h"
#include "systole/hlo/testing/rule_case.h"

namespace systole::hlo {
namespace {

using testing::check_rules;
using testing::RuleCase;
using P = std::span<const Value>;

const TensorType kScalar{DType::f32, {}};
const TensorType kPred{DType::pred, {}};
const TensorType kF{DType::f32, {3}};
const TensorType kF23{DType::f32, {2, 3}};
const TensorType kF33{DType::f32, {3, 3}};

auto to(const Shape& shape, const Dims& dimensions) {
  return [=](Builder& b, P p) { return b.broadcast_in_dim(p[0], shape, dimensions); };
}

const RuleCase kCases[] = {
    {"broadcast_to_same", {kF23}, to({2, 3}, {0, 1}), "p0"},
    {"broadcast_to_same", {kF33}, to({3, 3}, {1, 0})},

    {"broadcast_as_reshape", {kF}, to({1, 3, 1}, {1}), "reshape[1,3,1](p0)"},
    {"broadcast_as_reshape", {kF}, to({2, 3}, {1})},
    {"broadcast_as_reshape", {kF23}, to({3, 2}, {1, 0})},

    {"broadcast_of_broadcast",
     {kF},
     [](Builder& b, P p) {
       return b.broadcast_in_dim(b.broadcast_in_dim(p[0], {3, 2}, {0}), {2, 4, 3}, {2, 0});
     },
     "broadcast_in_dim[2,4,3]{2}(p0)"},
    {"broadcast_of_broadcast", {kF}, to({2, 3}, {1})},

    {"broadcast_of_reshape",
     {kF},
     [](Builder& b, P p) {
       return b.broadcast_in_dim(b.reshape(p[0], {1, 3}), {4, 3}, {0, 1});
     },
     "broadcast_in_dim[4,3]{1}(p0)"},
    {"broadcast_of_reshape",
     {kF23},
     [](Builder& b, P p) {
       return b.broadcast_in_dim(b.reshape(p[0], {6}), {4, 6}, {1});
     }},

    {"broadcast_of_transpose",
     {kF23},
     [](Builder& b, P p) {
       return b.broadcast_in_dim(b.transpose(p[0], {1, 0}), {3, 4, 2}, {0, 2});
     },
     "broadcast_in_dim[3,4,2]{2,0}(p0)"},
    {"broadcast_of_transpose", {kF23}, to({4, 2, 3}, {1, 2})},

    {"elementwise_of_broadcasts",
     {kScalar},
     [](Builder& b, P p) {
       return b.unary(Opcode::exponential, b.broadcast(p[0], {2, 3}));
     },
     "broadcast_in_dim[2,3](exponential(p0))"},
    {"elementwise_of_broadcasts",
     {kF, kF},
     [](Builder& b, P p) {
       return b.add(b.broadcast(p[0], {2, 3}), b.broadcast(p[1], {2, 3}));
     },
     "broadcast_in_dim[2,3]{1}(add(p0, p1))"},
    {"elementwise_of_broadcasts",
     {kScalar, kF},
     [](Builder& b, P p) {
       return b.multiply(b.broadcast(p[0], {2, 3}), b.broadcast(p[1], {2, 3}));
     },
     "broadcast_in_dim[2,3]{1}(multiply(broadcast_in_dim[3](p0), p1))"},
    {"elementwise_of_broadcasts",
     {kPred, kScalar, kScalar},
     [](Builder& b, P p) { return b.select(p[0], b.broadcast(p[1], {4}), b.broadcast(p[2], {4})); },
     "broadcast_in_dim[4](select(p0, p1, p2))"},
    {"elementwise_of_broadcasts",
     {kF},
     [](Builder& b, P p) {
       return b.convert(b.broadcast(p[0], {2, 3}), DType::s32);
     },
     "broadcast_in_dim[2,3]{1}(convert:s32(p0))"},
    // Repeats along different axes.
    {"elementwise_of_broadcasts",
     {kF, kF},
     [](Builder& b, P p) {
       return b.add(b.broadcast_in_dim(p[0], {3, 3}, {0}), b.broadcast_in_dim(p[1], {3, 3}, {1}));
     }},
    {"elementwise_of_broadcasts",
     {kScalar, kF},
     [](Builder& b, P p) { return b.add(b.broadcast(p[0], {3}), p[1]); }},
};

TEST(BroadcastRules, Cases) { EXPECT_EQ(check_rules(broadcast_rules(), kCases), ""); }

}  // namespace
}  // namespace systole::hlo
