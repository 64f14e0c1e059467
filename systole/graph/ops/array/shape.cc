#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/node_builder.h"
#include "systole/graph/op_def.h"
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

}  // namespace

Output shape(const Input& x, const ShapeOptions& options) {
  return add_op("Shape", {x}, options.name, {{"out_type", options.out_type}});
}

namespace ops {
extern const OpDef op_shape;
const OpDef op_shape{
    .name = "Shape",
    .doc = "The sizes of the dimensions of its input.",
    .infer = infer_shape,
    .lower = lower_shape,
    .blocks_gradient = true,
};
}  // namespace ops
}  // namespace systole
