#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/evaluator.h"
#include "systole/hlo/semantics/op_semantics.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_replica_id(const InferContext&) { return {{DType::u32, {}}}; }

std::vector<Tensor> evaluate_replica_id(const Instruction&, std::span<const Tensor>,
                                        const Evaluator& evaluator) {
  return {Tensor::scalar(static_cast<uint32_t>(evaluator.process().replica_id()))};
}

}  // namespace

extern const OpSemantics replica_id_semantics{
    .infer = infer_replica_id,
    .evaluate = evaluate_replica_id,
    .format = AssemblyFormat{"", TypeForm::result},
    .example = OpExample{.results = "tensor<$T>",
                         .body = R"(%r = "stablehlo.replica_id"() : () -> tensor<$T>)"},
    .vectorize = replicas::vectorize_replica_id};

}  // namespace systole::hlo::ops
