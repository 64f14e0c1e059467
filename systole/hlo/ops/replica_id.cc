#include "systole/hlo/evaluator.h"
#include "systole/hlo/op_semantics.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer(const InferContext&) { return {{DType::u32, {}}}; }

std::vector<Tensor> evaluate(const Instruction&, std::span<const Tensor>,
                             const Evaluator& evaluator) {
  return {Tensor::scalar(static_cast<uint32_t>(evaluator.process().replica_id()))};
}

}  // namespace

extern const OpSemantics replica_id_semantics;
const OpSemantics replica_id_semantics{.infer = infer, .evaluate = evaluate};

}  // namespace systole::hlo::ops
