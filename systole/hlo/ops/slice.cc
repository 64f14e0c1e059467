#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/checks.h"
#include "systole/hlo/semantics/index.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_slice(const InferContext& context) {
  const TensorType& operand = context.operand(0);
  const auto& [start, limit, strides] = context.get<SliceAttrs>();
  const int rank = operand.shape.rank();
  check_count(context.opcode, "start_indices", start.size(), rank);  // C2
  check_count(context.opcode, "limit_indices", limit.size(), rank);
  check_count(context.opcode, "strides", strides.size(), rank);
  check_at_least(context.opcode, "strides", strides, 1);  // C4
  Dims dims;
  for (size_t d = 0; d < start.size(); ++d) {
    const int64_t size = operand.shape[static_cast<int>(d)];
    if (start[d] < 0 || start[d] > limit[d] || limit[d] > size) {  // C3
      throw invalid_argument("slice: range of axis {}, got [{}, {}), expected within [0, {})", d,
                             start[d], limit[d], size);
    }
    const int64_t length = limit[d] - start[d];
    dims.push_back(length == 0 ? 0 : (length - 1) / strides[d] + 1);  // C5
  }
  return {{operand.dtype, Shape(std::move(dims))}};  // C1
}

std::vector<Tensor> evaluate_slice(const Instruction& instruction, std::span<const Tensor> operands,
                                   const Evaluator&) {
  const auto& [start, limit, strides] = instruction.attrs<SliceAttrs>();
  const Tensor& operand = operands[0];
  Tensor result(instruction.type());
  StridedView from = view_of(operand.shape());
  for (size_t d = 0; d < start.size(); ++d) {
    from.offset += start[d] * from.strides[d];
    // If one element is taken, the stride may be up to 2^63 - 1.
    from.strides[d] *= result.dim(static_cast<int>(d)) > 1 ? strides[d] : 0;
  }
  copy_strided(result, view_of(result.shape()), operand, from, result.shape().dims());
  return {result};
}

}  // namespace

extern const OpSemantics slice_semantics{
    .infer = infer_slice,
    .evaluate = evaluate_slice,
    .format = AssemblyFormat{"$* <start_indices:limit_indices:strides>", TypeForm::functional},
    .example =
        OpExample{
            .parameters = "%a: tensor<4x$T>",
            .results = "tensor<2x$T>",
            .body =
                R"(%r = "stablehlo.slice"(%a) {start_indices = array<i64: 1>, limit_indices = array<i64: 4>, strides = array<i64: 2>} : (tensor<4x$T>) -> tensor<2x$T>)"},
    .quantized = OpQuantization{.form = QuantizedForm::moves},
    .moves_elements = true,
    .vectorize = replicas::vectorize_slice,
    .sum_over_replicas = replicas::sum_linear,
    .shard = spmd::shard_slice};

}  // namespace systole::hlo::ops
