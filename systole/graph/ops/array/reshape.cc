#include <algorithm>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/core/constant_value.h"
#include "systole/graph/ops/array/array_common.h"

namespace systole {
namespace {

// The size that -1 stands for, when what the others leave is known.
Shape resolved(const Shape& x, const std::vector<int64_t>& sizes) {
  Dims dims(sizes.begin(), sizes.end());
  const auto unknown = std::ranges::find(dims, kUnknown);
  if (unknown == dims.end() || !x.is_static()) return Shape(std::move(dims));
  int64_t known = 1;
  for (const int64_t size : dims) known *= size == kUnknown ? 1 : size;
  const int64_t total = x.num_elements();
  if (known == 0 || total % known != 0) {
    throw invalid_argument(
        "shape, got {} for a tensor of {}, expected sizes that divide {} elements",
        Shape(std::move(dims)), x, total);
  }
  *unknown = total / known;
  return Shape(std::move(dims));
}

std::vector<TensorType> infer_reshape(const InferContext& c) {
  const auto sizes = c.input_as_shape(1);
  if (!sizes) {
    throw invalid_argument("shape, got {}, expected a known number of dimensions", c.input(1));
  }
  const Shape& x = c.input(0).shape;
  const bool constant = c.constant_input(1).has_value();  // else -1 is a size not known yet
  const auto unknown = std::ranges::count(sizes->dims(), kUnknown);
  if (unknown > 1 && constant) {
    throw invalid_argument("shape, got {}, expected at most one -1", *sizes);
  }
  const bool open = !constant && std::ranges::count(sizes->dims(), 0) > 0;
  const Shape shape = unknown == 1 && !open ? resolved(x, {sizes->begin(), sizes->end()}) : *sizes;
  if (shape.is_static() && x.is_static() && shape.num_elements() != x.num_elements()) {
    throw invalid_argument("shape, got {} for a tensor of {}, expected {} elements", shape, x,
                           x.num_elements());
  }
  return {{c.input(0).dtype, shape}};
}

std::vector<hlo::Value> lower_reshape(LowerContext& c) {
  return {c.b.reshape(c.input(0), resolved(c.input(0).shape(), c.constant_ints(1)))};
}

std::vector<Output> reshape_gradient(GradientContext& c) {
  return {reshape(c.grad(), shape(c.input(0))), {}};
}

BatchResults batch_reshape(const BatchContext& c) {
  const Shape& element = c.node.output_types()[0].shape;
  if (!c.only_first_batched() || !element.is_static() || element.num_elements() == 0) {
    return std::nullopt;
  }
  std::vector<int64_t> sizes{-1};
  sizes.insert(sizes.end(), element.begin(), element.end());
  return std::vector{reshape(c.inputs[0].value, sizes, {.name = c.node.name()})};
}

}  // namespace

Output reshape(const Input& tensor, const ShapeInput& shape, const NameOptions& options) {
  const CompositionScope scope(tensor, options.name, "Reshape");
  const Output value = resolve("Reshape", tensor);
  return Graph::current()
      .add_node("Reshape", {value, resolve("Reshape", shape)}, {{"T", value.dtype()}}, {},
                scope.result().name)
      ->output();
}

namespace ops {
extern const OpDef op_reshape{
    .name = "Reshape",
    .doc = "The same elements under another shape.",
    .inputs = "tensor: T, shape: Tshape",
    .outputs = "output: T",
    .infer = infer_reshape,
    .lower = lower_reshape,
    .gradient = reshape_gradient,
    .constant_rule = same_elements,
    .batch = {.rule = batch_reshape},
    .traits = {.moves_elements = true, .passes_on = PassesOn::elements},
};
}  // namespace ops
}  // namespace systole
