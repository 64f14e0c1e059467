#include <gtest/gtest.h>

#include "systole/hlo/passes/algebraic_simplifier/rules.h"
#include "systole/hlo/testing/rule_case.h"

namespace systole::hlo {
namespace {

using testing::check_rules;
using testing::RuleCase;
using P = std::span<const Value>;

const TensorType kF{DType::f32, {3}};
const TensorType kF9{DType::f32, {9}};
const TensorType kF23{DType::f32, {2, 3}};

const RuleCase kCases[] = {
    {"slice_of_everything",
     {kF23},
     [](Builder& b, P p) {
       return b.slice(p[0], {0, 0}, {2, 3});
     },
     "p0"},
    {"slice_of_everything",
     {kF23},
     [](Builder& b, P p) {
       return b.slice(p[0], {0, 1}, {2, 3});
     }},

    {"slice_of_slice",
     {kF9},
     [](Builder& b, P p) { return b.slice(b.slice(p[0], {1}, {9}, {2}), {1}, {4}, {2}); },
     "slice{3:8:4}(p0)"},
    {"slice_of_slice",
     {kF9},
     [](Builder& b, P p) { return b.slice(b.slice(p[0], {2}, {8}), {1}, {3}); },
     "slice{3:5}(p0)"},
    {"slice_of_slice",
     {kF9},
     [](Builder& b, P p) { return b.slice(b.slice(p[0], {2}, {8}), {6}, {6}); },
     "slice{0:0}(p0)"},
    {"slice_of_slice", {kF9}, [](Builder& b, P p) { return b.slice(p[0], {2}, {8}); }},

    {"slice_of_broadcast",
     {kF},
     [](Builder& b, P p) {
       return b.slice(b.broadcast(p[0], {4, 3}), {1, 0}, {3, 3});
     },
     "broadcast_in_dim[2,3]{1}(p0)"},
    {"slice_of_broadcast",
     {kF},
     [](Builder& b, P p) {
       return b.slice(b.broadcast(p[0], {4, 3}), {0, 1}, {4, 3});
     },
     "broadcast_in_dim[4,2]{1}(slice{1:3}(p0))"},
    {"slice_of_broadcast", {kF9}, [](Builder& b, P p) { return b.slice(p[0], {2}, {8}); }},

    {"slice_of_concatenate",
     {kF, kF9},
     [](Builder& b, P p) { return b.slice(b.concatenate(p, 0), {4}, {9}, {2}); },
     "slice{1:6:2}(p1)"},
    {"slice_of_concatenate",
     {kF, kF9},
     [](Builder& b, P p) { return b.slice(b.concatenate(p, 0), {2}, {9}); }},
};

TEST(SliceRules, Cases) { EXPECT_EQ(check_rules(slice_rules(), kCases), ""); }

}  // namespace
}  // namespace systole::hlo
