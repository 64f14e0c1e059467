#include "systole/hlo/ir/signature.h"
#include "systole/hlo/semantics/evaluator.h"
#include "systole/hlo/semantics/op_semantics.h"

namespace systole::hlo::ops {
namespace {

// A fusion passes its operands to its region. It is internal to the compiler, so its constraints
// have no labels.
std::vector<TensorType> infer_fusion(const InferContext& context) {
  const Computation& region = *context.regions[0];
  check_types("fusion", "parameter types of the region", parameter_types(region),
              types_of(context.operands));
  return result_types(region);
}

std::vector<Tensor> evaluate_fusion(const Instruction& instruction,
                                    std::span<const Tensor> operands, const Evaluator& evaluator) {
  return evaluator.run_region(instruction.region(), operands);
}

}  // namespace

extern const OpSemantics fusion_semantics{
    .infer = infer_fusion,
    .evaluate = evaluate_fusion,
    .quantized = OpQuantization{.form = QuantizedForm::own, .per_axis = true}};

}  // namespace systole::hlo::ops
