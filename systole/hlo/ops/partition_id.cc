#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/evaluator.h"
#include "systole/hlo/semantics/op_semantics.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_partition_id(const InferContext&) { return {{DType::u32, {}}}; }

std::vector<Tensor> evaluate_partition_id(const Instruction&, std::span<const Tensor>,
                                          const Evaluator& evaluator) {
  return {Tensor::scalar(static_cast<uint32_t>(evaluator.process().partition_id()))};
}

}  // namespace

extern const OpSemantics partition_id_semantics{
    .infer = infer_partition_id,
    .evaluate = evaluate_partition_id,
    .format = AssemblyFormat{"", TypeForm::result},
    .example = OpExample{.results = "tensor<$T>",
                         .body = R"(%r = "stablehlo.partition_id"() : () -> tensor<$T>)"},
    .replicas = AcrossReplicas::one_for_all,
    .vectorize = replicas::vectorize_partition_id};

}  // namespace systole::hlo::ops
