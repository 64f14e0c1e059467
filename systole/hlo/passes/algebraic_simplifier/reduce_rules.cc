// Reductions with one input and a reducer of one opcode, windows, and sorts. No rule regroups a sum
// or product of floats: terms keep their row-major order.
#include <algorithm>

#include "systole/hlo/analysis/match.h"
#include "systole/hlo/passes/algebraic_simplifier/rules.h"

namespace systole::hlo {
namespace {

// A reduction in the form that the rules handle.
struct Reduction {
  Value input;
  Value initial;
  Opcode reducer;
  const Dims& dimensions;

  bool reduces(int64_t axis) const { return std::ranges::count(dimensions, axis) != 0; }
};

std::optional<Reduction> match_reduction(const Instruction& op) {
  if (!op.is(Opcode::reduce) || op.num_operands() != 2) return std::nullopt;
  const std::optional<Opcode> reducer = match_reducer(op.region());
  // A reducer may compute in a wider type than its input's.
  if (!reducer || op.dtype() != op.operand(0).dtype()) return std::nullopt;
  return Reduction{op.operand(0), op.operand(1), *reducer, op.attrs<DimensionsAttrs>().dimensions};
}

Value reduce(Builder& builder, const Reduction& r, Value input, Dims dimensions) {
  return builder
      .op_with_regions(
          Opcode::reduce, {input, r.initial}, DimensionsAttrs{std::move(dimensions)},
          [&](Instruction& op) { fill_reducer(op.add_region(), r.reducer, input.dtype()); })
      ->result();
}

// Reducing one element per result is one application of the reducer.
Replacement reduce_of_single_elements(Instruction& op, Builder& builder) {
  const auto r = match_reduction(op);
  if (!r || !traits(r->reducer).has(kCommutative)) return {};
  for (const int64_t axis : r->dimensions) {
    if (r->input.shape()[static_cast<int>(axis)] != 1) return {};
  }
  const Value x = r->input.shape() == op.shape() ? r->input : builder.reshape(r->input, op.shape());
  return {builder.binary(r->reducer, x, builder.broadcast(r->initial, op.shape()))};
}

// reduce(reduce(x)) -> reduce(x) over all axes at once, if regrouping is exact.
Replacement reduce_of_reduce(Instruction& op, Builder& builder) {
  const auto outer = match_reduction(op);
  if (!outer || !regroups_exactly(outer->reducer, op.dtype())) return {};
  const auto inner = match_reduction(*outer->input.def);
  if (!inner || inner->reducer != outer->reducer) return {};
  if (outer->input.def->users().size() != 1) return {};
  const std::optional<Tensor> neutral = right_neutral(inner->reducer, op.dtype());
  const Tensor* initial = constant_of(inner->initial);
  if (initial == nullptr || !neutral || !same_element(*neutral, *initial)) return {};
  Dims kept;
  for (int64_t axis = 0; axis < inner->input.shape().rank(); ++axis) {
    if (!inner->reduces(axis)) kept.push_back(axis);
  }
  Dims dimensions = inner->dimensions;
  for (const int64_t axis : outer->dimensions) {
    dimensions.push_back(kept[axis]);
  }
  std::ranges::sort(dimensions);
  return {reduce(builder, *outer, inner->input, dimensions)};
}

// The maximum over copies of an element is the element: broadcast axes need not be reduced.
Replacement reduce_of_broadcast(Instruction& op, Builder& builder) {
  const auto r = match_reduction(op);
  if (!r || !traits(r->reducer).has(kIdempotent) || !regroups_exactly(r->reducer, op.dtype())) {
    return {};
  }
  const Instruction* broadcast = match(r->input, Opcode::broadcast_in_dim);
  if (broadcast == nullptr || r->input.shape().num_elements() == 0) return {};
  const Dims& to = broadcast->attrs<BroadcastInDimAttrs>().broadcast_dimensions;
  const Value x = broadcast->operand(0);
  Dims reduced;   // of x
  Dims position;  // in the result, of the axes of x that stay
  for (int64_t axis = 0; axis < x.shape().rank(); ++axis) {
    const int64_t d = to[axis];
    if (r->reduces(d)) {
      reduced.push_back(axis);
    } else {
      position.push_back(d -
                         std::ranges::count_if(r->dimensions, [&](int64_t e) { return e < d; }));
    }
  }
  // If no axis of x is reduced, the reducer is applied once.
  const Value small = reduced.empty()
                          ? builder.binary(r->reducer, x, builder.broadcast(r->initial, x.shape()))
                          : reduce(builder, *r, x, reduced);
  return {builder.broadcast_in_dim(small, op.shape(), position)};
}

// Calls found(from_begin, from_end, to_begin, to_end) for the smallest groups of adjacent axes that
// hold the same number of elements in both shapes. REQUIRES: equal, non-zero numbers of elements.
template <class Found>
void for_each_group(const Shape& from, const Shape& to, Found&& found) {
  int i = 0;
  int j = 0;
  while (i < from.rank() || j < to.rank()) {
    const int first_i = i;
    const int first_j = j;
    int64_t a = i < from.rank() ? from[i++] : 1;
    int64_t b = j < to.rank() ? to[j++] : 1;
    while (a != b) {
      if (a < b) {
        a *= from[i++];
      } else {
        b *= to[j++];
      }
    }
    found(first_i, i, first_j, j);
  }
}

// reduce(reshape(x)) -> reshape(reduce(x)), if each group of axes is reduced completely or not at
// all. The terms keep their row-major order.
Replacement reduce_of_reshape(Instruction& op, Builder& builder) {
  const auto r = match_reduction(op);
  if (!r || r->input.shape().num_elements() == 0) return {};
  const Instruction* reshape = match(r->input, Opcode::reshape);
  if (reshape == nullptr) return {};
  const Value x = reshape->operand(0);
  Dims dimensions;
  bool whole = true;
  for_each_group(x.shape(), r->input.shape(), [&](int x_begin, int x_end, int begin, int end) {
    int64_t reduced = 1;
    int64_t kept = 1;
    for (int axis = begin; axis < end; ++axis) {
      (r->reduces(axis) ? reduced : kept) *= r->input.shape()[axis];
    }
    whole = whole && (reduced == 1 || kept == 1);
    if (reduced == 1) return;
    for (int axis = x_begin; axis < x_end; ++axis) dimensions.push_back(axis);
  });
  // Reductions of single elements have their own rule.
  if (!whole || dimensions.empty()) return {};
  return {builder.reshape(reduce(builder, *r, x, dimensions), op.shape())};
}

// reduce(transpose(x)) -> transpose(reduce(x)): the transpose becomes smaller, often trivial.
Replacement reduce_of_transpose(Instruction& op, Builder& builder) {
  const auto r = match_reduction(op);
  if (!r) return {};
  const Instruction* transpose = match(r->input, Opcode::transpose);
  if (transpose == nullptr) return {};
  const Dims& permutation = transpose->attrs<TransposeAttrs>().permutation;
  Dims reduced;
  Dims kept;
  for (size_t axis = 0; axis < permutation.size(); ++axis) {
    (r->reduces(static_cast<int64_t>(axis)) ? reduced : kept).push_back(permutation[axis]);
  }
  const bool same_order = std::ranges::is_sorted(reduced);
  if (!same_order && !regroups_exactly(r->reducer, op.dtype())) return {};
  std::ranges::sort(reduced);
  const Value small = reduce(builder, *r, transpose->operand(0), reduced);
  if (std::ranges::is_sorted(kept)) return {small};
  Dims ascending = kept;
  std::ranges::sort(ascending);
  for (int64_t& axis : kept) axis = std::ranges::find(ascending, axis) - ascending.begin();
  return {builder.transpose(small, kept)};
}

// Returns whether a pad separates the elements by one less than the window's length: every window
// of stride 1 then contains one of them.
struct SpreadSum {
  Value input;
  const PadAttrs& pad;
  const WindowAttrs& window;
};

bool all_are(const Dims& dims, int64_t x) {
  return std::ranges::all_of(dims, [x](int64_t d) { return d == x; });
}

std::optional<SpreadSum> match_spread_sum(const Instruction& op) {
  if (op.num_operands() != 2 || op.dtype() != op.operand(0).dtype()) return std::nullopt;
  const Instruction* pad = match(op.operand(0), Opcode::pad);
  if (pad == nullptr || match_reducer(op.region()) != Opcode::add) return std::nullopt;
  if (!is_splat(op.operand(1), 0) || !is_splat(pad->operand(1), 0)) return std::nullopt;
  const SpreadSum s{pad->operand(0), pad->attrs<PadAttrs>(), op.attrs<WindowAttrs>()};
  const WindowAttrs& w = s.window;
  if (!all_are(w.window_strides, 1) || !all_are(w.base_dilations, 1) ||
      !all_are(w.window_dilations, 1) || !std::ranges::all_of(w.padding, [](const auto& p) {
        return p == std::pair<int64_t, int64_t>{};
      }))
    return std::nullopt;
  bool spread = false;
  for (size_t d = 0; d < w.window_dimensions.size(); ++d) {
    if (s.pad.edge_padding_low[d] < 0 || s.pad.edge_padding_high[d] < 0) return std::nullopt;
    if (w.window_dimensions[d] == 1) continue;
    if (w.window_dimensions[d] != s.pad.interior_padding[d] + 1) return std::nullopt;
    spread = true;
  }
  return spread && s.input.shape().num_elements() != 0 ? std::optional(s) : std::nullopt;
}

// The sum over windows that contain one element and zeros (the gradient of a mean over adjacent
// windows) repeats each element. 0 is added because a sum of zeros is never -0.
Replacement sum_of_spread_elements(Instruction& op, Builder& builder) {
  const auto s = match_spread_sum(op);
  if (!s) return {};
  const Shape& shape = s->input.shape();
  const Dims& window = s->window.window_dimensions;
  Dims split;
  Dims position;
  Dims merged = shape.dims();
  PadAttrs pad = s->pad;
  bool moved = false;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const auto d = static_cast<size_t>(axis);
    position.push_back(static_cast<int64_t>(split.size()));
    split.push_back(shape[axis]);
    if (window[d] > 1) {
      split.push_back(window[d]);
      merged[d] *= window[d];
      pad.interior_padding[d] = 0;
      pad.edge_padding_low[d] -= window[d] - 1;
      pad.edge_padding_high[d] = op.shape()[axis] - pad.edge_padding_low[d] - merged[d];
    }
    moved = moved || pad.edge_padding_low[d] != 0 || pad.edge_padding_high[d] != 0 ||
            pad.interior_padding[d] != 0;
  }
  const Value zero = builder.scalar(op.dtype(), 0);
  const Value sum = builder.add(s->input, builder.broadcast(zero, shape));
  const Value repeated =
      builder.reshape(builder.broadcast_in_dim(sum, Shape(split), position), Shape(merged));
  if (!moved) return {repeated};
  return {builder.pad(repeated, zero, pad.edge_padding_low, pad.edge_padding_high,
                      pad.interior_padding)};
}

// An axis of one element is sorted.
Replacement sort_of_single_elements(Instruction& op, Builder&) {
  const int rank = op.shape().rank();
  const int64_t axis = op.attrs<SortAttrs>().dimension;
  if (rank == 0 || op.shape()[static_cast<int>(axis < 0 ? axis + rank : axis)] > 1) return {};
  return {op.operands().begin(), op.operands().end()};
}

constexpr Rule kReduceRulesRules[] = {
    {"reduce_of_single_elements", Opcode::reduce, reduce_of_single_elements},
    {"reduce_of_reduce", Opcode::reduce, reduce_of_reduce},
    {"reduce_of_broadcast", Opcode::reduce, reduce_of_broadcast},
    {"reduce_of_reshape", Opcode::reduce, reduce_of_reshape},
    {"reduce_of_transpose", Opcode::reduce, reduce_of_transpose},
    {"sum_of_spread_elements", Opcode::reduce_window, sum_of_spread_elements},
    {"sort_of_single_elements", Opcode::sort, sort_of_single_elements},
};

}  // namespace

std::span<const Rule> reduce_rules() { return kReduceRulesRules; }

}  // namespace systole::hlo
