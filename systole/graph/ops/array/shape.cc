#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/constant_value.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/core/op_def.h"
#include "systole/graph/ops/array/array_common.h"

namespace systole {
namespace {

std::vector<TensorType> infer_shape(const InferContext& c) {
  return {{size_type(c), {c.input(0).shape.rank()}}};
}

std::vector<hlo::Value> lower_shape(LowerContext& c) {
  const Shape& shape = c.input(0).shape();
  const Tensor sizes = Tensor::of<int64_t>({shape.rank()}, std::span<const int64_t>(shape.dims()));
  return {c.b.constant(sizes.cast(c.attr<DType>("out_type")))};
}

std::optional<PartialValue> shape_elements(const Output& output) {
  std::vector<KnownElement> elements;
  for (const int64_t size : output.node()->input(0).shape()) {
    elements.push_back(size == kUnknown ? KnownElement() : KnownElement(size));
  }
  return partial_vector(output.dtype(), std::move(elements));
}

}  // namespace

Output shape(const Input& x, const ShapeOptions& options) {
  return add_op("Shape", {x}, options.name, {{"out_type", options.out_type}});
}

namespace ops {
extern const OpDef op_shape{
    .name = "Shape",
    .doc = "The sizes of the dimensions of its input.",
    .inputs = "input: T",
    .outputs = "output: out_type",
    .attrs = "out_type: type = int32",
    .infer = infer_shape,
    .lower = lower_shape,
    .constant_rule = shape_elements,
    .traits = {.blocks_gradient = true,
               .moves_elements = true,
               .costs_no_memory = true,
               .static_source = true},
};
}  // namespace ops
}  // namespace systole
