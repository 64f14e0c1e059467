#include <algorithm>

#include "systole/hlo/testing/random_scope.h"

namespace systole::hlo::testing {
namespace {

// A reducer for the dtype.
Opcode random_reducer(RandomScope& scope, DType dtype) {
  constexpr Opcode kPred[] = {Opcode::and_, Opcode::or_, Opcode::xor_};
  constexpr Opcode kNumber[] = {Opcode::add, Opcode::add, Opcode::maximum, Opcode::minimum};
  return dtype == DType::pred ? scope.one_of(kPred) : scope.one_of(kNumber);
}

// The bound of reducing `count` elements like x.
void add_reduced(RandomScope& scope, const Entry& x, Opcode reducer, int64_t count, Value value) {
  if (reducer != Opcode::add) return scope.add(value, x.bound, x.error);
  const double n = static_cast<double>(count);
  scope.add(value, n * x.bound, n * (x.error + rounding(x.dtype(), x.bound)));
}

void make_reduce(RandomScope& scope) {
  const Entry x = scope.tamed(scope.any());
  const Opcode reducer = random_reducer(scope, x.dtype());
  Dims dimensions;
  int64_t count = 1;
  for (int axis = 0; axis < x.shape().rank(); ++axis) {
    if (scope.chance(0.4)) continue;
    dimensions.push_back(axis);
    count *= x.shape()[axis];
  }
  add_reduced(scope, x, reducer, count, scope.builder.reduce(x.value, reducer, dimensions));
}

// The largest element of each row and its index, as argmax is written: the reducer is a program.
void make_argmax(RandomScope& scope) {
  const Entry x = scope.integer();
  if (x.shape().rank() == 0) return;
  const int64_t axis = scope.below(x.shape().rank());
  Builder& b = scope.builder;
  const Value index = b.iota({DType::s32, x.shape()}, axis);
  const Value lowest = b.identity(Opcode::maximum, x.dtype());
  const auto fill = [&](Instruction& reduce) {
    Computation& region = reduce.add_region();
    const Value a = region.add_parameter({x.dtype(), {}});
    const Value i = region.add_parameter({DType::s32, {}});
    const Value c = region.add_parameter({x.dtype(), {}});
    const Value k = region.add_parameter({DType::s32, {}});
    Builder inner(region);
    const Value first = inner.compare(a, c, ComparisonDirection::ge);
    region.set_results({inner.select(first, a, c), inner.select(first, i, k)});
  };
  Instruction* reduce =
      b.op_with_regions(Opcode::reduce, {x.value, index, lowest, b.scalar(DType::s32, 0)},
                        DimensionsAttrs{{axis}}, fill);
  scope.add(reduce->result(0), 0, 0);
  if (scope.chance(0.7)) scope.add(reduce->result(1), 0, 0);
}

void make_sort(RandomScope& scope) {
  const Entry x = scope.real();
  if (x.shape().rank() == 0) return;
  const auto direction = scope.chance(0.5) ? ComparisonDirection::lt : ComparisonDirection::gt;
  const auto fill = [&](Instruction& sort) {
    Computation& region = sort.add_region();
    const Value a = region.add_parameter({x.dtype(), {}});
    const Value b = region.add_parameter({x.dtype(), {}});
    region.set_results({Builder(region).compare(a, b, direction)});
  };
  const SortAttrs attrs{.dimension = scope.below(x.shape().rank()), .is_stable = true};
  scope.add(scope.builder.op_with_regions(Opcode::sort, {x.value}, attrs, fill)->result(), x.bound,
            x.error);
}

// Windows of 2 with padding of up to 1 at the low end: each contains an element of x.
void make_reduce_window(RandomScope& scope) {
  if (!scope.options().windows) return;
  const Entry x = scope.tamed(scope.real());
  const auto rank = static_cast<size_t>(x.shape().rank());
  WindowAttrs attrs;
  attrs.base_dilations.assign(rank, 1);
  attrs.window_dilations.assign(rank, 1);
  int64_t count = 1;
  for (const int64_t size : x.shape()) {
    const int64_t window = size > 1 ? 1 + scope.below(2) : 1;
    attrs.window_dimensions.push_back(window);
    attrs.window_strides.push_back(1 + scope.below(2));
    attrs.padding.emplace_back(scope.below(window), 0);
    count *= window;
  }
  const Opcode reducer = random_reducer(scope, x.dtype());
  const Value initial = scope.builder.identity(reducer, x.dtype());
  const auto fill = [&](Instruction& op) { fill_reducer(op.add_region(), reducer, x.dtype()); };
  add_reduced(scope, x, reducer, count,
              scope.builder.op_with_regions(Opcode::reduce_window, {x.value, initial}, attrs, fill)
                  ->result());
}

// Adds rows to rows of x at constant indices, some of which may be equal or out of range.
void make_scatter(RandomScope& scope) {
  const Entry x = scope.tamed(scope.real());
  if (x.shape().rank() == 0) return;
  const int64_t count = 1 + scope.below(3);
  Shape rows = x.shape();
  rows.set_dim(0, count);
  const Entry updates = scope.of_type({x.dtype(), rows}, kTameBound, assumed_error(x.dtype()));
  const Entry indices = scope.leaf({DType::s32, {count, 1}});
  ScatterAttrs attrs;
  attrs.inserted_window_dims = {0};
  attrs.scatter_dims_to_operand_dims = {0};
  attrs.index_vector_dim = 1;
  for (int axis = 1; axis < x.shape().rank(); ++axis) attrs.update_window_dims.push_back(axis);
  const Opcode reducer = scope.chance(0.7) ? Opcode::add : Opcode::maximum;
  const auto fill = [&](Instruction& op) { fill_reducer(op.add_region(), reducer, x.dtype()); };
  const Entry both{x.value, std::max(x.bound, updates.bound), std::max(x.error, updates.error)};
  add_reduced(
      scope, both, reducer, count + 1,
      scope.builder
          .op_with_regions(Opcode::scatter, {x.value, indices.value, updates.value}, attrs, fill)
          ->result());
}

// A sum of `count` products of elements of x and y.
void add_products(RandomScope& scope, const Entry& x, const Entry& y, int64_t count, Value value) {
  const double n = static_cast<double>(count);
  const double product = x.bound * y.bound;
  scope.add(value, n * product,
            n * (x.error * y.bound + y.error * x.bound) + n * rounding(x.dtype(), product));
}

// Either operand may have its axes in any order.
void make_dot(RandomScope& scope) {
  constexpr double kBound = 3;
  const Entry x = scope.chance(0.8) ? scope.floating(kBound) : scope.integer();
  if (x.shape().rank() == 0) return;
  DotAttrs attrs;
  const int64_t contracted = scope.below(x.shape().rank());
  const int64_t depth = x.shape()[static_cast<int>(contracted)];
  attrs.lhs_contracting_dimensions = {contracted};
  Dims sizes{depth};
  attrs.rhs_contracting_dimensions = {0};
  const bool batched = x.shape().rank() > 1 && scope.chance(0.3);
  if (batched) {
    const int64_t batch = contracted == 0 ? 1 : 0;
    attrs.lhs_batching_dimensions = {batch};
    attrs.rhs_batching_dimensions = {1};
    sizes.push_back(x.shape()[static_cast<int>(batch)]);
  }
  if (scope.chance(0.8)) sizes.push_back(1 + scope.below(scope.options().max_dim));
  Entry y = scope.of_type({x.dtype(), Shape(sizes)}, kBound, assumed_error(x.dtype()));
  if (!batched && sizes.size() == 2 && scope.chance(0.5)) {
    y.value = scope.builder.transpose(y.value, {1, 0});
    attrs.rhs_contracting_dimensions = {1};
  }
  const bool widened = x.dtype() == DType::bf16 && scope.chance(0.5);
  const Value dot =
      scope.builder.dot_general(x.value, y.value, attrs, widened ? DType::f32 : DType::invalid);
  add_products(scope, x, y, depth, dot);
}

// Two input channels, two output channels, windows of 2x2.
void make_convolution(RandomScope& scope) {
  if (!scope.options().windows) return;
  constexpr double kBound = 3;
  const DType dtype = scope.random_floating();
  const double error = assumed_error(dtype);
  const Entry x = scope.of_type({dtype, {1 + scope.below(2), 3, 3, 2}}, kBound, error);
  const Entry kernel = scope.of_type({dtype, {2, 2, 2, 2}}, kBound, error);
  ConvolutionAttrs attrs;
  const int64_t stride = 1 + scope.below(2);
  attrs.window_strides = {stride, stride};
  attrs.padding = {{scope.below(2), 0}, {0, scope.below(2)}};
  attrs.lhs_dilation = {1, 1};
  attrs.rhs_dilation = {1, 1};
  attrs.window_reversal = {false, false};
  attrs.input_feature_dimension = 3;
  attrs.input_spatial_dimensions = {1, 2};
  attrs.kernel_input_feature_dimension = 2;
  attrs.kernel_output_feature_dimension = 3;
  attrs.kernel_spatial_dimensions = {0, 1};
  attrs.output_feature_dimension = 3;
  attrs.output_spatial_dimensions = {1, 2};
  const Value result =
      scope.builder.op(Opcode::convolution, {x.value, kernel.value}, attrs)->result();
  constexpr int64_t kProducts = 8;
  add_products(scope, x, kernel, kProducts, result);
}

constexpr Maker kRandomContractionMakers[] = {
    {8, make_reduce},  {1, make_argmax}, {1, make_sort},        {1, make_reduce_window},
    {1, make_scatter}, {6, make_dot},    {1, make_convolution},
};

}  // namespace

std::span<const Maker> contraction_makers() { return kRandomContractionMakers; }

}  // namespace systole::hlo::testing
