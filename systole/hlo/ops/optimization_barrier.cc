#include "systole/hlo/ir/signature.h"
#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/op_semantics.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_optimization_barrier(const InferContext& context) {
  return types_of(context.operands);  // C1
}

std::vector<Tensor> evaluate_optimization_barrier(const Instruction&,
                                                  std::span<const Tensor> operands,
                                                  const Evaluator&) {
  return {operands.begin(), operands.end()};
}

}  // namespace

extern const OpSemantics optimization_barrier_semantics{
    .infer = infer_optimization_barrier,
    .evaluate = evaluate_optimization_barrier,
    .format = AssemblyFormat{"$*", TypeForm::list},
    .example =
        OpExample{
            .parameters = "%a: tensor<4x$T>",
            .results = "tensor<4x$T>",
            .body =
                R"(%r = "stablehlo.optimization_barrier"(%a) : (tensor<4x$T>) -> tensor<4x$T>)"},
    .quantized = OpQuantization{.form = QuantizedForm::own},
    .vectorize = replicas::vectorize_optimization_barrier,
    .shard = spmd::shard_optimization_barrier};

}  // namespace systole::hlo::ops
