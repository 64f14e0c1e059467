#include <gtest/gtest.h>

#include <limits>

#include "systole/hlo/passes/algebraic_simplifier/rules.h"
#include "systole/hlo/testing/rule_case.h"

namespace systole::hlo {
namespace {

using testing::check_rules;
using testing::RuleCase;
using P = std::span<const Value>;

const TensorType kF{DType::f32, {3}};
const TensorType kS23{DType::s32, {2, 3}};
const TensorType kF23{DType::f32, {2, 3}};
const TensorType kF13{DType::f32, {1, 3}};
const TensorType kF234{DType::f32, {2, 3, 4}};
const TensorType kS234{DType::s32, {2, 3, 4}};

Value reduced(Builder& b, Value x, Value initial, Opcode reducer, const Dims& dimensions) {
  return b
      .op_with_regions(Opcode::reduce, {x, initial}, DimensionsAttrs{dimensions},
                       [&](Instruction& op) { fill_reducer(op.add_region(), reducer, x.dtype()); })
      ->result();
}

auto twice(Opcode first, Opcode second) {
  return [=](Builder& b, P p) { return b.reduce(b.reduce(p[0], first, {1}), second, {0}); };
}
auto of_broadcast(Opcode reducer, const Shape& shape, const Dims& axes, const Dims& dimensions) {
  return [=](Builder& b, P p) {
    return b.reduce(b.broadcast_in_dim(p[0], shape, axes), reducer, dimensions);
  };
}
auto of_reshape(const Shape& shape, const Dims& dimensions) {
  return [=](Builder& b, P p) { return b.reduce(b.reshape(p[0], shape), Opcode::add, dimensions); };
}
auto of_transpose(Opcode reducer, const Dims& permutation, const Dims& dimensions) {
  return [=](Builder& b, P p) {
    return b.reduce(b.transpose(p[0], permutation), reducer, dimensions);
  };
}

// The sum over windows of this size of what a pad sets apart by one.
auto spread_sum(Opcode reducer, const Dims& high, int64_t window, double between = 0) {
  return [=](Builder& b, P p) {
    const Value spread = b.pad(p[0], b.scalar(p[0].dtype(), between), {1, 1}, high, {1, 1});
    const WindowAttrs attrs{.window_dimensions = {window, window},
                            .window_strides = {1, 1},
                            .base_dilations = {1, 1},
                            .window_dilations = {1, 1},
                            .padding = {{0, 0}, {0, 0}}};
    return b
        .op_with_regions(
            Opcode::reduce_window, {spread, b.scalar(p[0].dtype(), 0)}, attrs,
            [&](Instruction& op) { fill_reducer(op.add_region(), reducer, p[0].dtype()); })
        ->result();
  };
}

Value sorted(Builder& b, Value x, int64_t dimension) {
  return b
      .op_with_regions(
          Opcode::sort, {x}, SortAttrs{dimension, true},
          [&](Instruction& sort) {
            Computation& region = sort.add_region();
            const Value a = region.add_parameter({x.dtype(), {}});
            const Value c = region.add_parameter({x.dtype(), {}});
            region.set_results({Builder(region).compare(a, c, ComparisonDirection::lt)});
          })
      ->result();
}

const RuleCase kCases[] = {
    {"reduce_of_single_elements",
     {kF13},
     [](Builder& b, P p) { return b.reduce(p[0], Opcode::add, {0}); },
     "add(reshape[3](p0), broadcast_in_dim[3](0))"},
    {"reduce_of_single_elements",
     {kF13},
     [](Builder& b, P p) { return b.reduce(p[0], Opcode::maximum, {}); },
     "maximum(p0, broadcast_in_dim[1,3](-inf))"},
    {"reduce_of_single_elements",
     {kF13},
     [](Builder& b, P p) {
       return b.reduce(p[0], Opcode::add, {0, 1});
     }},

    {"reduce_of_reduce",
     {kF23},
     twice(Opcode::maximum, Opcode::maximum),
     "reduce{0,1}(p0, -inf)[maximum]"},
    {"reduce_of_reduce", {kS23}, twice(Opcode::add, Opcode::add), "reduce{0,1}(p0, 0)[add]"},
    {"reduce_of_reduce",
     {kS234},
     [](Builder& b, P p) {
       const Value five = b.scalar(DType::s32, 5);
       return reduced(b, b.reduce(p[0], Opcode::minimum, {0}), five, Opcode::minimum, {1});
     },
     "reduce{0,2}(p0, 5)[minimum]"},
    {"reduce_of_reduce", {kF23}, twice(Opcode::add, Opcode::add)},
    {"reduce_of_reduce", {kF23}, twice(Opcode::maximum, Opcode::minimum)},
    {"reduce_of_reduce",
     {kS23},
     [](Builder& b, P p) {
       const Value five = b.scalar(DType::s32, 5);
       return b.reduce(reduced(b, p[0], five, Opcode::add, {0}), Opcode::add, {0});
     }},

    {"reduce_of_broadcast",
     {kF},
     of_broadcast(Opcode::maximum, {2, 3}, {1}, {0}),
     "broadcast_in_dim[3]{0}(maximum(p0, broadcast_in_dim[3](-inf)))"},
    {"reduce_of_broadcast",
     {kF23},
     of_broadcast(Opcode::minimum, {2, 5, 3}, {0, 2}, {1, 2}),
     "broadcast_in_dim[2]{0}(reduce{1}(p0, inf)[minimum])"},
    {"reduce_of_broadcast",
     {kF},
     of_broadcast(Opcode::maximum, {3, 2}, {0}, {0}),
     "broadcast_in_dim[2](reduce{0}(p0, -inf)[maximum])"},
    {"reduce_of_broadcast", {kF}, of_broadcast(Opcode::add, {2, 3}, {1}, {0})},

    {"reduce_of_reshape", {kF23}, of_reshape({6}, {0}), "reshape[](reduce{0,1}(p0, 0)[add])"},
    {"reduce_of_reshape", {kF234}, of_reshape({2, 12}, {1}), "reshape[2](reduce{1,2}(p0, 0)[add])"},
    {"reduce_of_reshape",
     {kF234},
     of_reshape({6, 1, 2, 2}, {1, 2, 3}),
     "reshape[6](reduce{2}(p0, 0)[add])"},
    {"reduce_of_reshape", {kF234}, of_reshape({6, 4}, {0}), "reshape[4](reduce{0,1}(p0, 0)[add])"},
    {"reduce_of_reshape", {kF234}, of_reshape({4, 6}, {0})},
    {"reduce_of_reshape", {kF234}, of_reshape({6, 2, 2}, {2})},

    {"reduce_of_transpose",
     {kF23},
     of_transpose(Opcode::add, {1, 0}, {0}),
     "reduce{1}(p0, 0)[add]"},
    {"reduce_of_transpose",
     {kF234},
     of_transpose(Opcode::add, {2, 1, 0}, {1}),
     "transpose{1,0}(reduce{1}(p0, 0)[add])"},
    {"reduce_of_transpose",
     {kF23},
     of_transpose(Opcode::maximum, {1, 0}, {0, 1}),
     "reduce{0,1}(p0, -inf)[maximum]"},
    // The order of a sum of floats would change.
    {"reduce_of_transpose", {kF23}, of_transpose(Opcode::add, {1, 0}, {0, 1})},

    {"sum_of_spread_elements",
     {kF23},
     spread_sum(Opcode::add, {1, 1}, 2),
     "reshape[4,6](broadcast_in_dim[2,2,3,2]{0,2}(add(p0, broadcast_in_dim[2,3](0))))"},
    {"sum_of_spread_elements",
     {kS23},
     spread_sum(Opcode::add, {0, 3}, 2),
     "pad(reshape[4,6](broadcast_in_dim[2,2,3,2]{0,2}(add(p0, broadcast_in_dim[2,3](0)))), 0)"},
    // Windows that cover two elements, other reducers, something between the elements.
    {"sum_of_spread_elements", {kF23}, spread_sum(Opcode::add, {1, 1}, 3)},
    {"sum_of_spread_elements", {kF23}, spread_sum(Opcode::maximum, {1, 1}, 2)},
    {"sum_of_spread_elements", {kF23}, spread_sum(Opcode::add, {1, 1}, 2, 1)},

    {"sort_of_single_elements", {kF13}, [](Builder& b, P p) { return sorted(b, p[0], 0); }, "p0"},
    {"sort_of_single_elements", {kF13}, [](Builder& b, P p) { return sorted(b, p[0], 1); }},
};

TEST(ReduceRules, Cases) { EXPECT_EQ(check_rules(reduce_rules(), kCases), ""); }

}  // namespace
}  // namespace systole::hlo
