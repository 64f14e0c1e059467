#include <gtest/gtest.h>

#include "systole/hlo/passes/algebraic_simplifier/rules.h"
#include "systole/hlo/testing/rule_case.h"

namespace systole::hlo {
namespace {

using testing::check_rules;
using testing::RuleCase;
using P = std::span<const Value>;

const TensorType kScalar{DType::f32, {}};
const TensorType kF0{DType::f32, {0}};
const TensorType kF3{DType::f32, {3}};
const TensorType kF9{DType::f32, {9}};
const TensorType kF23{DType::f32, {2, 3}};

Value joined(Builder& b, std::initializer_list<Value> parts, int64_t dimension = 0) {
  return b.concatenate({parts.begin(), parts.size()}, dimension);
}

const RuleCase kCases[] = {
    {"concatenate_of_one", {kF3}, [](Builder& b, P p) { return joined(b, {p[0]}); }, "p0"},
    {"concatenate_of_one",
     {kF3},
     [](Builder& b, P p) {
       return joined(b, {p[0], p[0]});
     }},

    {"concatenate_of_empty",
     {kF3, kF0},
     [](Builder& b, P p) {
       return joined(b, {p[1], p[0], p[1]});
     },
     "concatenate{0}(p0)"},
    {"concatenate_of_empty",
     {kF3},
     [](Builder& b, P p) {
       return joined(b, {p[0], p[0]});
     }},
    {"concatenate_of_empty", {kF0}, [](Builder& b, P p) { return joined(b, {p[0]}); }},

    {"concatenate_of_concatenate",
     {kF3, kF9},
     [](Builder& b, P p) {
       return joined(b, {p[0], joined(b, {p[1], p[0]})});
     },
     "concatenate{0}(p0, p1, p0)"},
    {"concatenate_of_concatenate",
     {kF23, {DType::f32, {2, 6}}},
     [](Builder& b, P p) {
       return joined(b, {joined(b, {p[0], p[0]}, 1), p[1]}, 0);
     }},

    {"concatenate_of_neighbours",
     {kF9, kF3},
     [](Builder& b, P p) {
       return joined(b, {p[1], b.slice(p[0], {1}, {4}), b.slice(p[0], {4}, {6})});
     },
     "concatenate{0}(p1, slice{1:6}(p0))"},
    {"concatenate_of_neighbours",
     {kF23},
     [](Builder& b, P p) {
       return joined(b, {b.slice(p[0], {0, 1}, {2, 2}), b.slice(p[0], {0, 2}, {2, 3})}, 1);
     },
     "concatenate{1}(slice{0:2,1:3}(p0))"},
    {"concatenate_of_neighbours",
     {kF9},
     [](Builder& b, P p) {
       return joined(b, {b.slice(p[0], {4}, {6}), b.slice(p[0], {1}, {4})});
     }},
    {"concatenate_of_neighbours",
     {kF9, kF9},
     [](Builder& b, P p) {
       return joined(b, {b.slice(p[0], {1}, {4}), b.slice(p[1], {4}, {6})});
     }},
    {"concatenate_of_neighbours",
     {kF9},
     [](Builder& b, P p) {
       return joined(b, {b.slice(p[0], {0}, {4}, {2}), b.slice(p[0], {4}, {6})});
     }},

    {"concatenate_of_splats",
     {kScalar},
     [](Builder& b, P p) {
       return joined(b, {b.broadcast(p[0], {3}), b.broadcast(p[0], {2})});
     },
     "broadcast_in_dim[5](p0)"},
    {"concatenate_of_splats",
     {},
     [](Builder& b, P) {
       return joined(b, {b.splat(kF3, 1), b.splat(kF9, 1)});
     },
     "broadcast_in_dim[12](1)"},
    {"concatenate_of_splats",
     {},
     [](Builder& b, P) {
       return joined(b, {b.splat(kF3, 0), b.splat(kF9, -0.0)});
     }},

    {"pad_by_nothing",
     {kF3},
     [](Builder& b, P p) { return b.pad(p[0], b.scalar(DType::f32, 0), {0}, {0}); },
     "p0"},
    {"pad_by_nothing",
     {{DType::f32, {1}}},
     [](Builder& b, P p) { return b.pad(p[0], b.scalar(DType::f32, 0), {0}, {0}, {2}); },
     "p0"},
    {"pad_by_nothing",
     {kF3},
     [](Builder& b, P p) { return b.pad(p[0], b.scalar(DType::f32, 0), {0}, {0}, {1}); }},
    {"pad_by_nothing",
     {kF3},
     [](Builder& b, P p) { return b.pad(p[0], b.scalar(DType::f32, 0), {1}, {-1}); }},

    {"pad_of_splat",
     {},
     [](Builder& b, P) { return b.pad(b.splat(kF3, 2), b.scalar(DType::f32, 2), {1}, {2}); },
     "broadcast_in_dim[6](2)"},
    {"pad_of_splat",
     {},
     [](Builder& b, P) { return b.pad(b.splat(kF3, 2), b.scalar(DType::f32, 1), {1}, {2}); }},
};

TEST(ConcatenateRules, Cases) { EXPECT_EQ(check_rules(concatenate_rules(), kCases), ""); }

}  // namespace
}  // namespace systole::hlo
