// Products. If one side varies, the replicas are more of its free axes. If both vary, they are a
// batch dimension.
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/passes/replicas/vectorizer.h"

namespace systole::hlo::replicas {
namespace {

DotAttrs with_sides(const DotAttrs& a, bool lhs, bool rhs) {
  DotAttrs result = a;
  result.lhs_batching_dimensions = shifted(a.lhs_batching_dimensions, lhs ? 1 : 0);
  result.lhs_contracting_dimensions = shifted(a.lhs_contracting_dimensions, lhs ? 1 : 0);
  result.rhs_batching_dimensions = shifted(a.rhs_batching_dimensions, rhs ? 1 : 0);
  result.rhs_contracting_dimensions = shifted(a.rhs_contracting_dimensions, rhs ? 1 : 0);
  return result;
}

}  // namespace

std::vector<Value> vectorize_dot_general(Vectorizer& v, Instruction& x) {
  const bool lhs = v.varying(x.operand(0));
  const bool rhs = v.varying(x.operand(1));
  DotAttrs attrs = with_sides(x.attrs<DotAttrs>(), lhs, rhs);
  const auto batches = static_cast<int64_t>(attrs.lhs_batching_dimensions.size());
  if (lhs && rhs) {
    attrs.lhs_batching_dimensions = with_front(attrs.lhs_batching_dimensions, 0);
    attrs.rhs_batching_dimensions = with_front(attrs.rhs_batching_dimensions, 0);
  }
  const Value product = v.b().dot_general(v.at(x.operand(0)), v.at(x.operand(1)), attrs, x.dtype());
  if (lhs && rhs) return {product};
  // The replicas are the first free axis of their side.
  const auto contracted = static_cast<int64_t>(attrs.lhs_contracting_dimensions.size());
  const int64_t axis = lhs ? batches : x.operand(0).shape().rank() - contracted;
  return {v.lanes_to_front(product, axis)};
}

std::vector<Value> vectorize_convolution(Vectorizer& v, Instruction& x) {
  const auto& attrs = x.attrs<ConvolutionAttrs>();
  const bool lhs = v.varying(x.operand(0));
  const bool rhs = v.varying(x.operand(1));
  if ((lhs && rhs) || attrs.batch_group_count > 1) return {};
  if (rhs && attrs.feature_group_count > 1) return {};
  const int64_t result_axis = lhs ? attrs.output_batch_dimension : attrs.output_feature_dimension;
  const Value input =
      lhs ? v.merge_lanes(v.at(x.operand(0)), attrs.input_batch_dimension) : v.at(x.operand(0));
  const Value kernel =
      rhs ? v.merge_lanes(v.at(x.operand(1)), attrs.kernel_output_feature_dimension)
          : v.at(x.operand(1));
  TensorType type = x.type();
  const int axis = static_cast<int>(result_axis);
  type.shape.set_dim(axis, type.shape[axis] * v.num_replicas());
  const Value product = v.b().op(Opcode::convolution, {input, kernel}, attrs, {type})->result();
  return {v.split_lanes(product, result_axis)};
}

}  // namespace systole::hlo::replicas
