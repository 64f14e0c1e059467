#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/constant_value.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/ops/array/array_common.h"

namespace systole {
namespace {

std::vector<TensorType> infer_rank(const InferContext&) { return {{DType::s32, {}}}; }

std::vector<hlo::Value> lower_rank(LowerContext& c) {
  return {c.b.scalar(DType::s32, c.input(0).shape().rank())};
}

std::optional<PartialValue> rank_element(const Output& output) {
  return partial_scalar(output.dtype(), output.node()->input(0).shape().rank());
}

}  // namespace

Output rank(const Input& input, const NameOptions& options) {
  return add_op("Rank", {input}, options.name);
}

namespace ops {
extern const OpDef op_rank{
    .name = "Rank",
    .doc = "The number of axes.",
    .inputs = "input: T",
    .outputs = "output: int32",
    .infer = infer_rank,
    .lower = lower_rank,
    .constant_rule = rank_element,
    .traits = {.blocks_gradient = true, .moves_elements = true, .static_source = true},
};
}  // namespace ops
}  // namespace systole
