#include <algorithm>

#include "systole/base/error.h"
#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/collective.h"

namespace systole::hlo::ops {
namespace {

// The number of parts of the scattered axis.
int64_t num_parts(const InferContext& context, const ReduceScatterAttrs& attrs) {
  if (const std::optional<int64_t> size = group_size(attrs.groups)) return *size;
  const int axis = static_cast<int>(attrs.scatter_dimension);
  const Shape& declared = declared_result(context, 0).shape;
  if (axis >= declared.rank() || declared[axis] == 0) return 1;
  return std::max<int64_t>(context.operand(0).shape[axis] / declared[axis], 1);
}

std::vector<TensorType> infer_reduce_scatter(const InferContext& context) {
  const auto& attrs = context.get<ReduceScatterAttrs>();
  const TensorType& operand = context.operand(0);
  check_axes(context.opcode, "scatter_dimension", {&attrs.scatter_dimension, 1},
             operand.shape.rank());                                 // C2
  check_groups(context.opcode, attrs.groups, Groups::every_equal);  // C3 - C6
  const int axis = static_cast<int>(attrs.scatter_dimension);
  check_split_axis(context.opcode, "scatter_dimension", operand.shape, axis);
  const int64_t parts = num_parts(context, attrs);
  if (operand.shape[axis] % parts != 0) {  // C1
    throw invalid_argument(
        "reduce_scatter: size of scatter_dimension, got {}, expected a multiple "
        "of {}",
        operand.shape[axis], parts);
  }
  TensorType result = operand;
  result.dtype = check_reducer(context, 0, {&operand.dtype, 1})[0];  // C7, C9
  result.shape.set_dim(axis, operand.shape[axis] / parts);           // C8
  return {result};
}

std::vector<Tensor> evaluate_reduce_scatter(const Instruction& instruction,
                                            std::span<const Tensor> operands,
                                            const Evaluator& evaluator) {
  const auto& attrs = instruction.attrs<ReduceScatterAttrs>();
  const std::vector<int64_t> group = group_around(instruction, evaluator.process(), attrs.groups,
                                                  grouping_of(attrs.groups), Groups::every_equal);
  const int64_t place = std::ranges::find(group, evaluator.process().number()) - group.begin();
  const auto given = evaluator.process().exchange(instruction, group, {operands[0]});
  const Tensor reduced =
      combine_elements(instruction.region(), evaluator, instruction.dtype(), column(given, 0));
  return {split_part(reduced, static_cast<int>(attrs.scatter_dimension),
                     static_cast<int64_t>(group.size()), place)};
}

}  // namespace

extern const OpSemantics reduce_scatter_semantics{
    .infer = infer_reduce_scatter,
    .evaluate = evaluate_reduce_scatter,
    .example = OpExample{.parameters = "%a: tensor<4x$T>",
                         .results = "tensor<4x$T>",
                         .body = R"(%r = "stablehlo.reduce_scatter"(%a) ({
^bb0(%x: tensor<$T>, %y: tensor<$T>):
  %z = "stablehlo.add"(%x, %y) : (tensor<$T>, tensor<$T>) -> tensor<$T>
  "stablehlo.return"(%z) : (tensor<$T>) -> ()
}) {scatter_dimension = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<4x$T>) -> tensor<4x$T>)"},
    .vectorize = replicas::vectorize_reduce_scatter,
    .shard = spmd::shard_reduce_scatter};

}  // namespace systole::hlo::ops
