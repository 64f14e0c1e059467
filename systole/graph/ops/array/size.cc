#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/node_builder.h"
#include "systole/graph/ops/array/array_common.h"

namespace systole {
namespace {

std::vector<TensorType> infer_size(const InferContext& c) { return {{size_type(c), {}}}; }

std::vector<hlo::Value> lower_size(LowerContext& c) {
  return {c.b.scalar(c.attr<DType>("out_type"),
                     static_cast<double>(c.input(0).shape().num_elements()))};
}

}  // namespace

Output size(const Input& input, const SizeOptions& options) {
  return add_op("Size", {input}, options.name, {{"out_type", options.out_type}});
}

namespace ops {
extern const OpDef op_size;
const OpDef op_size{
    .name = "Size",
    .doc = "The number of elements.",
    .infer = infer_size,
    .lower = lower_size,
    .blocks_gradient = true,
};
}  // namespace ops
}  // namespace systole
