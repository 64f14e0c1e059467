#include "systole/base/error.h"
#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/semantics/op_semantics.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_constant(const InferContext& context) {
  const Tensor& value = context.get<ConstantAttrs>().value;
  if (!is_numeric(value.dtype())) {
    throw invalid_argument("constant: element type, got {}, expected a numeric one", value.dtype());
  }
  return {value.type()};  // C1
}

std::vector<Tensor> evaluate_constant(const Instruction& instruction, std::span<const Tensor>,
                                      const Evaluator&) {
  return {instruction.attrs<ConstantAttrs>().value};
}

}  // namespace

extern const OpSemantics constant_semantics{
    .infer = infer_constant,
    .evaluate = evaluate_constant,
    .format = AssemblyFormat{"<value>", TypeForm::none},
    .example =
        OpExample{
            .results = "tensor<4x$T>",
            .body =
                R"(%r = "stablehlo.constant"() {value = dense<$1> : tensor<4x$T>} : () -> tensor<4x$T>)"},
    .quantized = OpQuantization{.form = QuantizedForm::moves, .per_axis = true},
    .shard = spmd::shard_constant};

}  // namespace systole::hlo::ops
