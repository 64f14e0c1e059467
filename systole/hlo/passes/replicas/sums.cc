// Sums over replicas. Values that are linear in varying ones are summed first. A product of two
// varying sides also contracts over the replicas, which costs as much as the product of the whole
// batch; otherwise one product per replica would be stored and added up.
#include <algorithm>

#include "systole/hlo/analysis/match.h"
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/passes/replicas/vectorizer.h"
#include "systole/hlo/semantics/op_semantics.h"

namespace systole::hlo::replicas {
namespace {

using Sum = std::optional<Value>;

// Returns the sum of any value.
Value sum_of(Vectorizer& v, Value old) {
  if (v.varying(old)) return v.sum_over_replicas(old);
  return v.b().multiply(v.at(old),
                        v.b().splat_like(v.at(old), static_cast<double>(v.num_replicas())));
}

}  // namespace

std::optional<Value> sum_dot_general(Vectorizer& v, Instruction& x) {
  if (!v.varying(x.operand(0)) || !v.varying(x.operand(1))) return std::nullopt;
  DotAttrs a = x.attrs<DotAttrs>();
  a.lhs_batching_dimensions = shifted(a.lhs_batching_dimensions);
  a.rhs_batching_dimensions = shifted(a.rhs_batching_dimensions);
  a.lhs_contracting_dimensions = with_front(shifted(a.lhs_contracting_dimensions), 0);
  a.rhs_contracting_dimensions = with_front(shifted(a.rhs_contracting_dimensions), 0);
  return v.b().dot_general(v.at(x.operand(0)), v.at(x.operand(1)), a, x.dtype());
}

// A convolution sums over the features of its input, which are the examples if it is the gradient
// of a kernel.

std::optional<Value> sum_convolution(Vectorizer& v, Instruction& x) {
  const auto& a = x.attrs<ConvolutionAttrs>();
  if (!v.varying(x.operand(0)) || !v.varying(x.operand(1))) return std::nullopt;
  if (a.feature_group_count > 1) return std::nullopt;
  const Value input = v.merge_lanes(v.at(x.operand(0)), a.input_feature_dimension);
  const Value kernel = v.merge_lanes(v.at(x.operand(1)), a.kernel_input_feature_dimension);
  return v.b().op(Opcode::convolution, {input, kernel}, a, {x.type()})->result();
}

namespace {

bool is_zero(Value value) {
  const Tensor* constant = constant_of(value);
  return constant != nullptr && constant->num_elements() == 1 && constant->as_double(0) == 0;
}

}  // namespace

std::optional<Value> sum_reduce(Vectorizer& v, Instruction& x) {
  const bool adds_up = x.num_operands() == 2 && x.dtype() == x.operand(0).dtype() &&
                       match_reducer(x.region()) == Opcode::add && is_zero(x.operand(1));
  if (!adds_up) return std::nullopt;
  const Dims dimensions = with_front(shifted(x.attrs<DimensionsAttrs>().dimensions), 0);
  return v.b().reduce(v.at(x.operand(0)), Opcode::add, dimensions);
}

// Scatters the updates of all replicas into one array of zeros: the gradient of a table.

std::optional<Value> sum_scatter(Vectorizer& v, Instruction& x) {
  ScatterAttrs a = x.attrs<ScatterAttrs>();
  const bool adds_up = x.num_operands() == 3 && match_reducer(x.region()) == Opcode::add &&
                       x.dtype() == x.operand(0).dtype() && a.input_batching_dims.empty();
  const Tensor* start = splat_of(x.operand(0));
  if (!adds_up || start == nullptr || start->as_double(0) != 0) return std::nullopt;
  a.update_window_dims = shifted(a.update_window_dims);
  ++a.index_vector_dim;
  a.indices_are_sorted = false;
  a.unique_indices = false;
  const auto copy_region = [&](Instruction& copy) {
    ValueMap none;
    copy.add_region().clone_from(x.region(), none);
  };
  const std::vector<Value> operands{v.at(x.operand(0)), v.stacked(x.operand(1)),
                                    v.stacked(x.operand(2))};
  return v.b().op_with_regions(Opcode::scatter, operands, a, copy_region)->result();
}

// Opcodes on one operand that commute with addition.

std::optional<Value> sum_linear(Vectorizer& v, Instruction& x) {
  const Sum sum = v.linear_sum(x.operand(0));
  if (!sum) return std::nullopt;
  return v.b().op(x.opcode(), {*sum}, x.attrs(), {x.type()})->result();
}

std::optional<Value> sum_convert(Vectorizer& v, Instruction& x) {
  const bool floats = is_floating(x.dtype()) && is_floating(x.operand(0).dtype());
  return floats ? sum_linear(v, x) : std::nullopt;
}

// If one term has a cheap sum, the other is summed as it is.

std::optional<Value> sum_terms(Vectorizer& v, Instruction& x) {
  const Sum lhs = v.varying(x.operand(0)) ? v.linear_sum(x.operand(0)) : std::nullopt;
  const Sum rhs = v.varying(x.operand(1)) ? v.linear_sum(x.operand(1)) : std::nullopt;
  if (!lhs && !rhs) return std::nullopt;
  return v.b().binary(x.opcode(), lhs ? *lhs : sum_of(v, x.operand(0)),
                      rhs ? *rhs : sum_of(v, x.operand(1)));
}

std::optional<Value> sum_product(Vectorizer& v, Instruction& x) {
  if (!is_floating(x.dtype())) return std::nullopt;
  for (int side = 0; side < 2; ++side) {
    if (x.is(Opcode::divide) && side == 1) break;
    const Value factor = x.operand(1 - side);
    if (v.varying(factor)) continue;
    const Sum sum = v.linear_sum(x.operand(side));
    if (sum) return v.b().binary(x.opcode(), *sum, v.at(factor));
  }
  return std::nullopt;
}

std::optional<Value> Vectorizer::linear_sum(Value old) {
  if (const auto sum = sums_.find(old); sum != sums_.end()) return sum->second;
  // Another user needs the stacked value anyway; in loops over the lanes the operands are not here.
  if (!varying(old) || in_turn_ || old.def->users().size() != 1) return std::nullopt;
  const SumRule rule = semantics_of(old.def->opcode()).sum_over_replicas;
  if (rule == nullptr) return std::nullopt;
  // The sum is part of the instruction, not of what asks for it.
  const Metadata outer = b().metadata();
  b().set_metadata(old.def->metadata());
  const std::optional<Value> sum = rule(*this, *old.def);
  b().set_metadata(outer);
  return sum;
}

Value Vectorizer::sum_over_replicas(Value old) {
  if (sums_by_calls()) {
    const CustomCallAttrs call{.call_target_name = kSumReplicas, .has_side_effect = true};
    return b().op(Opcode::custom_call, {map_.at(old)}, call, {old.type()})->result();
  }
  if (const std::optional<Value> sum = linear_sum(old)) return *sum;
  return b().reduce(at(old), Opcode::add, {0});
}

}  // namespace systole::hlo::replicas
