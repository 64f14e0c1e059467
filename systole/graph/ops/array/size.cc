#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/constant_value.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/ops/array/array_common.h"

namespace systole {
namespace {

std::vector<TensorType> infer_size(const InferContext& c) { return {{size_type(c), {}}}; }

std::vector<hlo::Value> lower_size(LowerContext& c) {
  return {c.b.scalar(c.attr<DType>("out_type"),
                     static_cast<double>(c.input(0).shape().num_elements()))};
}

std::optional<PartialValue> size_element(const Output& output) {
  const Shape& shape = output.node()->input(0).shape();
  return partial_scalar(output.dtype(),
                        shape.is_static() ? KnownElement(shape.num_elements()) : KnownElement());
}

}  // namespace

Output size(const Input& input, const SizeOptions& options) {
  return add_op("Size", {input}, options.name, {{"out_type", options.out_type}});
}

namespace ops {
extern const OpDef op_size{
    .name = "Size",
    .doc = "The number of elements.",
    .inputs = "input: T",
    .outputs = "output: out_type",
    .attrs = "out_type: type = int32",
    .infer = infer_size,
    .lower = lower_size,
    .constant_rule = size_element,
    .traits = {.blocks_gradient = true, .moves_elements = true, .static_source = true},
};
}  // namespace ops
}  // namespace systole
