#include <gtest/gtest.h>

#include "systole/hlo/passes/algebraic_simplifier/rules.h"
#include "systole/hlo/testing/rule_case.h"

namespace systole::hlo {
namespace {

using testing::check_rules;
using testing::RuleCase;
using P = std::span<const Value>;

const TensorType kScalar{DType::f32, {}};
const TensorType kF{DType::f32, {3}};
const TensorType kF23{DType::f32, {2, 3}};

const RuleCase kCases[] = {
    {"reshape_to_same",
     {kF23},
     [](Builder& b, P p) {
       return b.reshape(p[0], {2, 3});
     },
     "p0"},
    {"reshape_to_same",
     {kF23},
     [](Builder& b, P p) {
       return b.reshape(p[0], {3, 2});
     }},

    {"reshape_of_reshape",
     {kF23},
     [](Builder& b, P p) {
       return b.reshape(b.reshape(p[0], {6}), {3, 2});
     },
     "reshape[3,2](p0)"},
    {"reshape_of_reshape", {kF23}, [](Builder& b, P p) { return b.reshape(p[0], {6}); }},

    {"reshape_of_splat",
     {kScalar},
     [](Builder& b, P p) {
       return b.reshape(b.broadcast(p[0], {2, 3}), {6});
     },
     "broadcast_in_dim[6](p0)"},
    {"reshape_of_splat",
     {kF},
     [](Builder& b, P p) {
       return b.reshape(b.broadcast(p[0], {2, 3}), {6});
     }},
};

TEST(ReshapeRules, Cases) { EXPECT_EQ(check_rules(reshape_rules(), kCases), ""); }

}  // namespace
}  // namespace systole::hlo
