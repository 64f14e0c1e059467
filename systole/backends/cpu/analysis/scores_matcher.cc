#include "systole/backends/cpu/analysis/scores_matcher.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "systole/backends/cpu/analysis/causal_mask.h"
#include "systole/backends/cpu/kernels/onednn_dot.h"
#include "systole/backends/cpu/kernels/sizes.h"
#include "systole/hlo/analysis/match.h"
#include "systole/hlo/ir/builder.h"

namespace systole::cpu {

using hlo::Instruction;
using hlo::Opcode;
using hlo::Value;

namespace {

// An array of which `value` is a broadcast, or itself.
struct BroadcastSource {
  Value array;
  Dims steps;  // through it along the axes of `value`, in elements
};
BroadcastSource source_of(const Value& value) {
  const Instruction* const broadcast = hlo::match(value, Opcode::broadcast_in_dim);
  if (broadcast == nullptr) return {value, value.shape().strides()};
  BroadcastSource source{.array = broadcast->operand(0), .steps = {}};
  source.steps.resize(static_cast<size_t>(value.shape().rank()), 0);
  const Dims strides = source.array.shape().strides();
  const Dims& axes = broadcast->attrs<hlo::BroadcastInDimAttrs>().broadcast_dimensions;
  for (int i = 0; i < source.array.shape().rank(); ++i) {
    if (source.array.shape()[i] != 1) source.steps[u(axes[u(i)])] = strides[i];
  }
  return source;
}

bool reduces_last_axis(const Instruction& reduce) {
  const Dims& axes = reduce.attrs<hlo::DimensionsAttrs>().dimensions;
  return axes.size() == 1 && axes[0] == reduce.operand(0).shape().rank() - 1;
}

bool starts_neutral(const Instruction& reduce, Opcode opcode) {
  const Value start = reduce.operand(1);
  if (opcode == Opcode::add) return hlo::is_splat(start, 0) || hlo::is_splat(start, -0.0);
  return hlo::is_splat(start, -std::numeric_limits<double>::infinity()) ||
         hlo::is_splat(start, std::numeric_limits<float>::lowest());
}

// Returns whether `value`, one of two operands of a step, may hold the scores: it is computed by a
// product or by a step that scores take. A bias or a factor is not.
bool leads_to_product(const Value& value) {
  const Instruction* x = value.def;
  while (x->is(Opcode::reshape)) x = x->operand(0).def;
  return x->is(Opcode::dot_general) || x->is(Opcode::multiply) || x->is(Opcode::divide) ||
         x->is(Opcode::select) || x->is(Opcode::add);
}

}  // namespace

bool repeats_along_rows(const Instruction& broadcast) {
  const Shape& result = broadcast.shape();
  const Shape& rows = broadcast.operand(0).shape();
  const Dims& axes = broadcast.attrs<hlo::BroadcastInDimAttrs>().broadcast_dimensions;
  const int last = result.rank() - 1;
  if (last < 0 || !std::ranges::is_sorted(axes)) return false;
  for (int i = 0; i < rows.rank(); ++i) {
    if (rows[i] != 1 && axes[u(i)] == last) return false;
  }
  return rows.num_elements() * result[last] == result.num_elements();
}

bool is_f32_product(const Instruction& x) {
  return x.is(Opcode::dot_general) && x.dtype() == DType::f32 &&
         x.operand(0).dtype() == DType::f32 && x.operand(1).dtype() == DType::f32 &&
         x.attrs<hlo::DotAttrs>().algorithm == hlo::DotAlgorithm();
}

MatrixArray matrices_of(const Shape& shape, const Dims& steps) {
  MatrixArray array{.offsets = {0}};
  const int rank = shape.rank();
  for (int axis = 0; axis < rank - 2; ++axis) {
    std::vector<int64_t> longer;
    for (const int64_t base : array.offsets) {
      for (int64_t i = 0; i < shape[axis]; ++i) longer.push_back(base + i * steps[u(axis)]);
    }
    array.offsets = std::move(longer);
  }
  array.row_step = steps[u(rank - 2)];
  array.column_step = steps[u(rank - 1)];
  return array;
}

std::optional<MatrixArray> rhs_matrices(const Instruction& product, const Dims& batch,
                                        const Dims& rows, const Dims& columns, int64_t times) {
  const Shape& shape = product.operand(1).shape();
  const auto row_step = merged_stride(shape, rows);
  const auto column_step = merged_stride(shape, columns);
  if (!row_step || !column_step) return std::nullopt;
  MatrixArray array{.row_step = *row_step, .column_step = *column_step};
  for (const int64_t offset : offsets_along(shape, batch))
    array.offsets.insert(array.offsets.end(), u(times), offset);
  return array;
}

Value ScoresMatcher::without_reshapes(Value value) {
  while (value.def->is(Opcode::reshape)) {
    inside.push_back(value.def);
    value = value.def->operand(0);
  }
  return value;
}

Value ScoresMatcher::reduced_rows(const Value& value, Opcode opcode) {
  const Instruction* const broadcast = hlo::match(value, Opcode::broadcast_in_dim);
  if (broadcast == nullptr || !repeats_along_rows(*broadcast)) return {};
  const int64_t columns = value.shape()[value.shape().rank() - 1];
  if (row_size != 0 && columns != row_size) return {};
  row_size = columns;
  const Instruction* const reduce =
      hlo::match(without_reshapes(broadcast->operand(0)), Opcode::reduce);
  if (reduce == nullptr || reduce->num_operands() != 2 ||
      hlo::match_reducer(reduce->region()) != opcode || !reduces_last_axis(*reduce) ||
      !starts_neutral(*reduce, opcode))
    return {};
  const Value source = reduce->operand(0);
  if (source.shape()[source.shape().rank() - 1] != columns) return {};
  inside.push_back(broadcast);
  inside.push_back(reduce);
  return without_reshapes(source);
}

bool ScoresMatcher::find_scores(const Value& weights) {
  const Instruction* const divide = hlo::match(weights, Opcode::divide);
  if (divide == nullptr) return false;
  exponential = without_reshapes(divide->operand(0));
  if (!exponential.def->is(Opcode::exponential) ||
      reduced_rows(divide->operand(1), Opcode::add) != exponential)
    return false;
  const Value below = without_reshapes(exponential.def->operand(0));
  const Instruction* const subtract = hlo::match(below, Opcode::subtract);
  if (subtract == nullptr) return false;
  scores = without_reshapes(subtract->operand(0));
  if (reduced_rows(subtract->operand(1), Opcode::maximum) != scores) return false;
  inside.insert(inside.end(), {divide, exponential.def, subtract});
  return true;
}

bool ScoresMatcher::find_product() {
  Value at = scores;
  while (!at.def->is(Opcode::dot_general)) {
    const Instruction& x = *at.def;
    if (at.dtype() != DType::f32 || at.shape().rank() < 2) return false;
    int before = -1;  // number of the operand that is the scores before the step
    if (x.is(Opcode::select)) {
      before = 1;
    } else if (x.is(Opcode::multiply) || x.is(Opcode::add)) {
      before = leads_to_product(x.operand(0)) ? 0 : 1;
    } else if (x.is(Opcode::divide)) {
      before = 0;
    }
    if (before < 0) return false;
    inside.push_back(&x);
    steps.push_back(&x);
    at = without_reshapes(x.operand(before));
  }
  product = at.def;
  inside.push_back(product);
  return is_f32_product(*product) && set_queries_and_keys();
}

bool ScoresMatcher::set_queries_and_keys() {
  const DotAxes axes(*product);
  const Shape& q = product->operand(0).shape();
  if (axes.lhs_free.empty() || axes.rhs_free.empty() || product->shape().num_elements() == 0)
    return false;
  Dims matrices = axes.lhs_batch;
  matrices.insert(matrices.end(), axes.lhs_free.begin(), axes.lhs_free.end() - 1);
  const Dims rows = {axes.lhs_free.back()};
  const auto size_step = merged_stride(q, axes.lhs_contracting);
  attention.queries = cpu::product(q, rows);
  attention.keys = cpu::product(product->operand(1).shape(), axes.rhs_free);
  attention.size = cpu::product(q, axes.lhs_contracting);
  const int64_t shared = cpu::product(q, axes.lhs_free) / attention.queries;
  auto k = rhs_matrices(*product, axes.rhs_batch, axes.rhs_free, axes.rhs_contracting, shared);
  if (!size_step || !k || attention.keys != row_size) return false;
  attention.q = {offsets_along(q, matrices), *merged_stride(q, rows), *size_step};
  attention.k = *std::move(k);
  return true;
}

bool ScoresMatcher::set_steps() {
  return std::all_of(steps.rbegin(), steps.rend(),
                     [&](const Instruction* x) { return add_step(*x); });
}

bool ScoresMatcher::add_step(const Instruction& x) {
  const int rank = x.shape().rank();
  if (x.shape()[rank - 1] != attention.keys || x.shape()[rank - 2] != attention.queries)
    return false;
  if (x.is(Opcode::select)) return add_mask(x);
  const Value other = x.operand(leads_to_product(x.operand(0)) ? 1 : 0);
  if (const Tensor* const number = hlo::splat_of(other)) {
    const float y = number->data<float>()[0];
    attention.steps.push_back(
        {.code = x.is(Opcode::add) ? ScoreStep::Code::add : ScoreStep::Code::multiply,
         .number = x.is(Opcode::divide) ? 1 / y : y});
    return true;
  }
  return x.is(Opcode::add) && add_array({.code = ScoreStep::Code::add}, other);
}

bool ScoresMatcher::add_mask(const Instruction& x) {
  const Tensor* const number = hlo::splat_of(x.operand(2));
  if (number == nullptr || x.operand(0).shape() != x.shape()) return false;
  ScoreStep step{.code = ScoreStep::Code::select, .number = number->data<float>()[0]};
  const auto shift = causal_shift(x.operand(0));
  if (!shift) return add_array(std::move(step), x.operand(0));
  step.code = ScoreStep::Code::causal;
  step.shift = *shift;
  attention.steps.push_back(std::move(step));
  return true;
}

bool ScoresMatcher::add_array(ScoreStep step, const Value& value) {
  const BroadcastSource source = source_of(value);
  step.array = matrices_of(value.shape(), source.steps);
  if (step.array.offsets.size() != attention.q.offsets.size() || step.array.column_step > 1)
    return false;
  step.buffer = static_cast<int>(inputs.size());
  inputs.push_back(source.array);
  attention.steps.push_back(std::move(step));
  return true;
}

}  // namespace systole::cpu
