#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/semantics/checks.h"

namespace systole::hlo::spmd {
namespace {

// Adds a factor and gives it to the axes of tensors: {operands or results, axis}.
struct AxisOf {
  TensorFactors* dims;
  int64_t axis;
};
void add_factor(ShardingRule& rule, Factor factor, std::initializer_list<AxisOf> places) {
  for (const AxisOf& place : places) {
    (*place.dims)[place.axis].push_back(static_cast<int>(rule.factors.size()));
  }
  rule.factors.push_back(factor);
}

// Splits all axes but the last `whole` alike.
ShardingRule leading_axes(const Instruction& x, int whole) {
  ShardingRule rule = empty_rule(x);
  for (int d = 0; d < x.shape().rank() - whole; ++d) {
    for (TensorFactors& dims : rule.operands) dims[d] = {d};
    rule.results[0][d] = {d};
    rule.factors.push_back({x.shape()[d]});
  }
  return rule;
}

// Groups of features of each kind are as large on every device; it may have fewer groups.
Attrs local_convolution(const Instruction& x, const LocalTypes& local) {
  ConvolutionAttrs attrs = x.attrs<ConvolutionAttrs>();
  const auto size = [](const TensorType& type, int64_t axis) {
    return type.shape[static_cast<int>(axis)];
  };
  if (attrs.feature_group_count > 1) {
    attrs.feature_group_count = size(local.operands[0], attrs.input_feature_dimension) /
                                size(local.operands[1], attrs.kernel_input_feature_dimension);
  }
  if (attrs.batch_group_count > 1) {
    const int64_t parts = size(x.operand(0).type(), attrs.input_batch_dimension) /
                          size(local.operands[0], attrs.input_batch_dimension);
    attrs.batch_group_count /= parts;
  }
  return attrs;
}

}  // namespace

ShardingRule shard_dot_general(const Instruction& x) {
  ShardingRule rule = empty_rule(x);
  rule.combiner = Opcode::add;
  const auto& attrs = x.attrs<DotAttrs>();
  const Shape& lhs = x.operand(0).shape();
  const Shape& rhs = x.operand(1).shape();
  TensorFactors& result = rule.results[0];
  int64_t axis = 0;
  for (size_t i = 0; i < attrs.lhs_batching_dimensions.size(); ++i) {
    const int64_t from = attrs.lhs_batching_dimensions[i];
    add_factor(rule, {lhs[static_cast<int>(from)]},
               {{&rule.operands[0], from},
                {&rule.operands[1], attrs.rhs_batching_dimensions[i]},
                {&result, axis++}});
  }
  const auto add_free = [&](int operand, const Shape& shape, const Dims& batching,
                            const Dims& contracting) {
    for (const int64_t d : other_axes(shape.rank(), concat(batching, contracting))) {
      add_factor(rule, {shape[static_cast<int>(d)]},
                 {{&rule.operands[operand], d}, {&result, axis++}});
    }
  };
  add_free(0, lhs, attrs.lhs_batching_dimensions, attrs.lhs_contracting_dimensions);
  add_free(1, rhs, attrs.rhs_batching_dimensions, attrs.rhs_contracting_dimensions);
  for (size_t i = 0; i < attrs.lhs_contracting_dimensions.size(); ++i) {
    const int64_t from = attrs.lhs_contracting_dimensions[i];
    add_factor(
        rule, {.size = lhs[static_cast<int>(from)], .reduced = true},
        {{&rule.operands[0], from}, {&rule.operands[1], attrs.rhs_contracting_dimensions[i]}});
  }
  return rule;
}

// Spatial axes are whole: their parts would need each other's edges.
ShardingRule shard_convolution(const Instruction& x) {
  ShardingRule rule = empty_rule(x);
  rule.combiner = Opcode::add;
  rule.localize = local_convolution;
  const auto& attrs = x.attrs<ConvolutionAttrs>();
  TensorFactors& lhs = rule.operands[0];
  TensorFactors& rhs = rule.operands[1];
  TensorFactors& result = rule.results[0];
  const auto size = [&](int operand, int64_t axis) {
    return x.operand(operand).shape()[static_cast<int>(axis)];
  };
  const int64_t outputs = size(1, attrs.kernel_output_feature_dimension);
  const int64_t groups = std::max(attrs.feature_group_count, attrs.batch_group_count);
  if (size(0, attrs.input_feature_dimension) == 0 || outputs == 0) return rule;
  if (attrs.batch_group_count > 1) {
    add_factor(rule, {groups},
               {{&lhs, attrs.input_batch_dimension},
                {&rhs, attrs.kernel_output_feature_dimension},
                {&result, attrs.output_feature_dimension}});
    add_factor(rule, {size(0, attrs.input_batch_dimension) / groups},
               {{&lhs, attrs.input_batch_dimension}, {&result, attrs.output_batch_dimension}});
  } else {
    add_factor(rule, {size(0, attrs.input_batch_dimension)},
               {{&lhs, attrs.input_batch_dimension}, {&result, attrs.output_batch_dimension}});
  }
  if (attrs.feature_group_count > 1) {
    add_factor(rule, {groups},
               {{&lhs, attrs.input_feature_dimension},
                {&rhs, attrs.kernel_output_feature_dimension},
                {&result, attrs.output_feature_dimension}});
  }
  add_factor(
      rule, {outputs / groups},
      {{&rhs, attrs.kernel_output_feature_dimension}, {&result, attrs.output_feature_dimension}});
  add_factor(rule, {.size = size(1, attrs.kernel_input_feature_dimension), .reduced = true},
             {{&lhs, attrs.input_feature_dimension}, {&rhs, attrs.kernel_input_feature_dimension}});
  return rule;
}

ShardingRule shard_cholesky(const Instruction& x) { return leading_axes(x, 2); }

ShardingRule shard_fft(const Instruction& x) {
  return leading_axes(x, static_cast<int>(x.attrs<FftAttrs>().fft_length.size()));
}

// The right hand sides are independent of each other.
ShardingRule shard_triangular_solve(const Instruction& x) {
  ShardingRule rule = leading_axes(x, 2);
  const int rank = x.shape().rank();
  const int free = x.attrs<TriangularSolveAttrs>().left_side ? rank - 1 : rank - 2;
  add_factor(rule, {x.shape()[free]}, {{&rule.operands[1], free}, {&rule.results[0], free}});
  return rule;
}

}  // namespace systole::hlo::spmd
