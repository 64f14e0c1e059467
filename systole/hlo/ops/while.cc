#include "systole/hlo/ir/signature.h"
#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/evaluator.h"
#include "systole/hlo/semantics/op_semantics.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_while(const InferContext& context) {
  const Computation& cond = *context.regions[0];
  const Computation& body = *context.regions[1];
  std::vector<TensorType> types = types_of(context.operands);
  const TensorType pred{DType::pred, {}};
  check_types("while", "parameter types of cond", parameter_types(cond), types);  // C1
  check_types("while", "result types of cond", result_types(cond), {&pred, 1});   // C1
  check_types("while", "parameter types of body", parameter_types(body), types);  // C2
  check_types("while", "result types of body", result_types(body), types);        // C2
  return types;                                                                   // C3
}

std::vector<Tensor> evaluate_while(const Instruction& instruction, std::span<const Tensor> operands,
                                   const Evaluator& evaluator) {
  std::vector<Tensor> state(operands.begin(), operands.end());
  while (evaluator.run_region(instruction.region(0), state)[0].item<bool>()) {
    state = evaluator.run_region(instruction.region(1), state);
  }
  return state;
}

}  // namespace

extern const OpSemantics while_semantics{
    .infer = infer_while,
    .evaluate = evaluate_while,
    .example = OpExample{.parameters = "%p: tensor<i1>, %a: tensor<4x$T>",
                         .results = "tensor<i1>, tensor<4x$T>",
                         .body = R"(%r:2 = "stablehlo.while"(%p, %a) ({
^bb0(%x: tensor<i1>, %y: tensor<4x$T>):
  "stablehlo.return"(%x) : (tensor<i1>) -> ()
}, {
^bb0(%x: tensor<i1>, %y: tensor<4x$T>):
  %z = "stablehlo.xor"(%x, %x) : (tensor<i1>, tensor<i1>) -> tensor<i1>
  "stablehlo.return"(%z, %y) : (tensor<i1>, tensor<4x$T>) -> ()
}) : (tensor<i1>, tensor<4x$T>) -> (tensor<i1>, tensor<4x$T>))"},
    .quantized = OpQuantization{.form = QuantizedForm::own, .per_axis = true},
    .vectorize = replicas::vectorize_while,
    .shard = spmd::shard_while};

}  // namespace systole::hlo::ops
