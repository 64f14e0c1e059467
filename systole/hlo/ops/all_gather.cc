#include "systole/base/error.h"
#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/collective.h"
#include "systole/hlo/semantics/index.h"

namespace systole::hlo::ops {
namespace {

// The growth factor of the gathered axis.
int64_t num_gathered(const InferContext& context, const AllGatherAttrs& attrs, int i) {
  if (const std::optional<int64_t> size = group_size(attrs.groups)) return *size;
  const int axis = static_cast<int>(attrs.all_gather_dim);
  const TensorType& declared = declared_result(context, i);
  const int64_t length = context.operand(i).shape[axis];
  return length == 0 || axis >= declared.shape.rank() ? 1 : declared.shape[axis] / length;
}

std::vector<TensorType> infer_all_gather(const InferContext& context) {
  const auto& attrs = context.get<AllGatherAttrs>();
  check_groups(context.opcode, attrs.groups, Groups::every_equal);  // C2 - C5
  std::vector<TensorType> results;
  for (int i = 0; i < context.num_operands(); ++i) {
    const TensorType& operand = context.operand(i);
    check_axes(context.opcode, "all_gather_dim", {&attrs.all_gather_dim, 1},
               operand.shape.rank());  // C1
    const int axis = static_cast<int>(attrs.all_gather_dim);
    check_split_axis(context.opcode, "all_gather_dim", operand.shape, axis);
    const Wide length = Wide{operand.shape[axis]} * num_gathered(context, attrs, i);
    results.push_back(operand);  // C6
    results.back().shape.set_dim(axis, check_dim(context.opcode, "all_gather_dim", length));
  }
  return results;
}

std::vector<Tensor> evaluate_all_gather(const Instruction& instruction,
                                        std::span<const Tensor> operands,
                                        const Evaluator& evaluator) {
  const auto& attrs = instruction.attrs<AllGatherAttrs>();
  const auto given = exchange_in_group(instruction, operands, evaluator, attrs.groups,
                                       grouping_of(attrs.groups), Groups::every_equal);
  std::vector<Tensor> results;
  for (size_t i = 0; i < operands.size(); ++i) {
    results.push_back(concatenated(column(given, i), static_cast<int>(attrs.all_gather_dim)));
  }
  return results;
}

}  // namespace

extern const OpSemantics all_gather_semantics{
    .infer = infer_all_gather,
    .evaluate = evaluate_all_gather,
    .example =
        OpExample{
            .parameters = "%a: tensor<4x$T>",
            .results = "tensor<4x$T>",
            .body =
                R"(%r = "stablehlo.all_gather"(%a) {all_gather_dim = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<4x$T>) -> tensor<4x$T>)"},
    .quantized = OpQuantization{.form = QuantizedForm::moves},
    .replicas = AcrossReplicas::one_per_group,
    .vectorize = replicas::vectorize_all_gather,
    .shard = spmd::shard_all_gather};

}  // namespace systole::hlo::ops
