#include <algorithm>
#include <numeric>

#include "systole/hlo/testing/random_scope.h"

namespace systole::hlo::testing {
namespace {

void add_moved(RandomScope& scope, const Entry& from, Value value) {
  scope.add(value, from.bound, from.error);
}

void make_reshape(RandomScope& scope) {
  const Entry x = scope.any();
  // Distributes prime factors over a few axes in random order.
  Dims dims(static_cast<size_t>(1 + scope.below(3)), 1);
  int64_t left = x.shape().num_elements();
  for (int64_t factor = 2; left > 1; ++factor) {
    while (left % factor == 0) {
      dims[static_cast<size_t>(scope.below(static_cast<int64_t>(dims.size())))] *= factor;
      left /= factor;
    }
  }
  if (x.shape().num_elements() == 1 && scope.chance(0.5)) dims.clear();
  add_moved(scope, x, scope.builder.reshape(x.value, Shape(dims)));
}

Dims random_permutation(RandomScope& scope, int rank) {
  Dims permutation(static_cast<size_t>(rank));
  std::iota(permutation.begin(), permutation.end(), 0);
  for (int i = rank - 1; i > 0; --i) {
    std::swap(permutation[i], permutation[scope.below(i + 1)]);
  }
  return permutation;
}

void make_transpose(RandomScope& scope) {
  const Entry x = scope.any();
  add_moved(scope, x,
            scope.builder.transpose(x.value, random_permutation(scope, x.shape().rank())));
}

// Broadcasts to a shape with up to two more axes, at any position.
void make_broadcast(RandomScope& scope) {
  const Entry x = scope.any();
  const int rank = x.shape().rank() + static_cast<int>(scope.below(3));
  if (rank > scope.options().max_rank + 1) return;
  Dims positions = random_permutation(scope, rank);
  positions.resize(static_cast<size_t>(x.shape().rank()));
  if (scope.chance(0.7)) std::ranges::sort(positions);
  Dims sizes;
  for (int axis = 0; axis < rank; ++axis) sizes.push_back(1 + scope.below(scope.options().max_dim));
  for (int axis = 0; axis < x.shape().rank(); ++axis) {
    if (x.shape()[axis] == 1) continue;
    sizes[positions[static_cast<size_t>(axis)]] = x.shape()[axis];
  }
  add_moved(scope, x, scope.builder.broadcast_in_dim(x.value, Shape(sizes), positions));
}

void make_slice(RandomScope& scope) {
  const Entry x = scope.any();
  SliceAttrs attrs;
  for (const int64_t size : x.shape()) {
    const int64_t start = scope.below(size);
    attrs.start_indices.push_back(start);
    attrs.limit_indices.push_back(scope.chance(0.5) ? size : start + 1 + scope.below(size - start));
    attrs.strides.push_back(scope.chance(0.7) ? 1 : 2);
  }
  add_moved(scope, x,
            scope.builder.slice(x.value, attrs.start_indices, attrs.limit_indices, attrs.strides));
}

void make_pad(RandomScope& scope) {
  const Entry x = scope.any();
  const Entry padding = scope.scalar(x.dtype());
  PadAttrs attrs;
  for (const int64_t size : x.shape()) {
    attrs.edge_padding_low.push_back(scope.below(3) - (size > 1 ? 1 : 0));
    attrs.edge_padding_high.push_back(scope.below(2));
    attrs.interior_padding.push_back(scope.chance(0.8) ? 0 : 1);
  }
  scope.add(scope.builder.pad(x.value, padding.value, attrs.edge_padding_low,
                              attrs.edge_padding_high, attrs.interior_padding),
            std::max(x.bound, padding.bound), std::max(x.error, padding.error));
}

void make_concatenate(RandomScope& scope) {
  const Entry x = scope.any();
  if (x.shape().rank() == 0) return;
  std::vector<Value> parts;
  double bound = 0;
  double error = 0;
  for (int64_t count = 1 + scope.below(3); count > 0; --count) {
    const Entry part = count == 1 ? x : scope.of_type(x.value.type());
    parts.push_back(part.value);
    bound = std::max(bound, part.bound);
    error = std::max(error, part.error);
  }
  scope.add(scope.builder.concatenate(parts, scope.below(x.shape().rank())), bound, error);
}

// Splits a value and joins the parts again, in either order.
void make_rejoined(RandomScope& scope) {
  const Entry x = scope.any();
  if (x.shape().rank() == 0) return;
  const int64_t axis = scope.below(x.shape().rank());
  const int64_t middle = scope.below(x.shape()[static_cast<int>(axis)] + 1);
  Dims start(x.shape().dims().size(), 0);
  Dims limit = x.shape().dims();
  limit[axis] = middle;
  const Value first = scope.builder.slice(x.value, start, limit);
  start[axis] = middle;
  const Value second = scope.builder.slice(x.value, start, x.shape().dims());
  std::vector<Value> parts{first, second};
  if (scope.chance(0.3)) std::swap(parts[0], parts[1]);
  add_moved(scope, x, scope.builder.concatenate(parts, axis));
}

void make_reverse(RandomScope& scope) {
  const Entry x = scope.any();
  Dims dimensions;
  for (int axis = 0; axis < x.shape().rank(); ++axis) {
    if (scope.chance(0.5)) dimensions.push_back(axis);
  }
  add_moved(scope, x, scope.builder.reverse(x.value, dimensions));
}

// One index per axis; indices out of range are clamped.
std::vector<Value> random_starts(RandomScope& scope, const Shape& shape) {
  std::vector<Value> starts;
  starts.reserve(shape.dims().size());
  for (int axis = 0; axis < shape.rank(); ++axis) {
    starts.push_back(scope.scalar(DType::s32).value);
  }
  return starts;
}

Dims random_sizes(RandomScope& scope, const Shape& shape) {
  Dims sizes;
  for (const int64_t size : shape) sizes.push_back(1 + scope.below(size));
  return sizes;
}

void make_dynamic_slice(RandomScope& scope) {
  const Entry x = scope.any();
  const std::vector<Value> starts = random_starts(scope, x.shape());
  add_moved(scope, x, scope.builder.dynamic_slice(x.value, starts, random_sizes(scope, x.shape())));
}

void make_dynamic_update_slice(RandomScope& scope) {
  const Entry x = scope.any();
  const Dims sizes = random_sizes(scope, x.shape());
  const std::vector<Value> starts = random_starts(scope, x.shape());
  Entry update = x;
  if (scope.chance(0.2)) {
    update.value = scope.builder.dynamic_slice(x.value, starts, sizes);
  } else {
    update = scope.of_type({x.dtype(), Shape(sizes)});
  }
  scope.add(scope.builder.dynamic_update_slice(x.value, update.value, starts),
            std::max(x.bound, update.bound), std::max(x.error, update.error));
}

// Rows of an operand at `count` indices along axis 0.
void make_gather(RandomScope& scope) {
  const Entry x = scope.any();
  if (x.shape().rank() == 0) return;
  const Entry indices = scope.of_type({DType::s32, {1 + scope.below(3), 1}});
  GatherAttrs attrs;
  attrs.collapsed_slice_dims = {0};
  attrs.start_index_map = {0};
  attrs.index_vector_dim = 1;
  attrs.slice_sizes = {1};
  for (int axis = 1; axis < x.shape().rank(); ++axis) {
    attrs.offset_dims.push_back(axis);
    attrs.slice_sizes.push_back(x.shape()[axis]);
  }
  add_moved(scope, x, scope.builder.op(Opcode::gather, {x.value, indices.value}, attrs)->result());
}

constexpr Maker kRandomMovementMakers[] = {
    {5, make_reshape},       {5, make_transpose},
    {6, make_broadcast},     {4, make_slice},
    {3, make_pad},           {3, make_concatenate},
    {1, make_rejoined},      {2, make_reverse},
    {3, make_dynamic_slice}, {2, make_dynamic_update_slice},
    {2, make_gather},
};

}  // namespace

std::span<const Maker> movement_makers() { return kRandomMovementMakers; }

}  // namespace systole::hlo::testing
