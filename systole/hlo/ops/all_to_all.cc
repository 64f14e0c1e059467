#include <algorithm>

#include "systole/base/error.h"
#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/collective.h"
#include "systole/hlo/semantics/index.h"

namespace systole::hlo::ops {
namespace {

void check_split_count(const InferContext& context, const AllToAllAttrs& attrs) {
  check_at_least(context.opcode, "split_count", {&attrs.split_count, 1}, 1);  // C4
  const Tensor& groups = attrs.groups.replica_groups;
  const int64_t size = groups.dim(0) == 0 ? 0 : groups.dim(1);
  if (size != attrs.split_count) {  // C8
    throw invalid_argument("all_to_all: split_count, got {} for groups of {}, expected as many",
                           attrs.split_count, size);
  }
}

std::vector<TensorType> infer_all_to_all(const InferContext& context) {
  const auto& attrs = context.get<AllToAllAttrs>();
  check_groups(context.opcode, attrs.groups, Groups::every_equal);  // C5 - C7
  check_split_count(context, attrs);
  const int split = static_cast<int>(attrs.split_dimension);
  const int concat = static_cast<int>(attrs.concat_dimension);
  std::vector<TensorType> results;
  for (int i = 0; i < context.num_operands(); ++i) {
    TensorType result = context.operand(i);
    const int rank = result.shape.rank();
    check_axes(context.opcode, "split_dimension", {&attrs.split_dimension, 1}, rank);    // C1
    check_axes(context.opcode, "concat_dimension", {&attrs.concat_dimension, 1}, rank);  // C3
    if (result.shape[split] % attrs.split_count != 0) {                                  // C2
      throw invalid_argument(
          "all_to_all: size of split_dimension, got {}, expected a multiple of "
          "{}",
          result.shape[split], attrs.split_count);
    }
    result.shape.set_dim(split, result.shape[split] / attrs.split_count);  // C9
    const Wide length = Wide{result.shape[concat]} * attrs.split_count;
    result.shape.set_dim(concat, check_dim(context.opcode, "concat_dimension", length));
    results.push_back(result);
  }
  return results;
}

std::vector<Tensor> evaluate_all_to_all(const Instruction& instruction,
                                        std::span<const Tensor> operands,
                                        const Evaluator& evaluator) {
  const auto& attrs = instruction.attrs<AllToAllAttrs>();
  const int split = static_cast<int>(attrs.split_dimension);
  const Grouping grouping = grouping_of(attrs.groups.channel_handle);
  const std::vector<int64_t> group =
      group_around(instruction, evaluator.process(), attrs.groups, grouping, Groups::every_equal);
  if (static_cast<int64_t>(group.size()) != attrs.split_count) {
    throw invalid_argument("all_to_all: split_count, got {} for a group of {}, expected as many",
                           attrs.split_count, group.size());
  }
  const int64_t place = std::ranges::find(group, evaluator.process().number()) - group.begin();
  const auto given =
      evaluator.process().exchange(instruction, group, {operands.begin(), operands.end()});
  std::vector<Tensor> results;
  for (size_t i = 0; i < operands.size(); ++i) {
    std::vector<Tensor> parts = column(given, i);
    for (Tensor& part : parts) part = split_part(part, split, attrs.split_count, place);
    results.push_back(concatenated(parts, static_cast<int>(attrs.concat_dimension)));
  }
  return results;
}

}  // namespace

extern const OpSemantics all_to_all_semantics{
    .infer = infer_all_to_all,
    .evaluate = evaluate_all_to_all,
    .example =
        OpExample{
            .parameters = "%a: tensor<4x$T>",
            .results = "tensor<4x$T>",
            .body =
                R"(%r = "stablehlo.all_to_all"(%a) {split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 1 : i64, replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<4x$T>) -> tensor<4x$T>)"},
    .quantized = OpQuantization{.form = QuantizedForm::moves},
    .vectorize = replicas::vectorize_all_to_all,
    .shard = spmd::shard_all_to_all};

}  // namespace systole::hlo::ops
