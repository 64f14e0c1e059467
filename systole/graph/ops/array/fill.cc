#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/constant_value.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/core/op_def.h"
#include "systole/graph/core/where_scope.h"
#include "systole/graph/lowering/broadcast.h"

namespace systole {
namespace {

std::vector<TensorType> infer_fill(const InferContext& c) {
  const std::optional<Shape> shape = c.input_as_shape(0);
  if (!shape) {
    throw invalid_argument("dims, got {}, expected a known number of dimensions", c.input(0));
  }
  if (c.input(1).shape.rank() != 0) {
    throw invalid_argument("value, got {}, expected a scalar", c.input(1));
  }
  return {{c.input(1).dtype, *shape}};
}

std::vector<hlo::Value> lower_fill(LowerContext& c) {
  const std::vector<int64_t> sizes = c.constant_ints(0);
  return {c.b.broadcast(c.input(1), Shape(std::span<const int64_t>(sizes)))};
}

std::vector<Output> fill_gradient(GradientContext& c) {
  return {Output(), sum_to_shape_of(c.grad(), c.input(1))};
}

std::optional<PartialValue> fill_elements(const Output& output) {
  const auto dims = known_elements(output.node()->input(0));
  const auto value = partial_value(output.node()->input(1));
  if (!dims || dims->size() > 1 || !value || value->shape.rank() != 0) return std::nullopt;
  const int64_t n = dims->empty() ? 1 : (*dims)[0];
  if (n < 0 || n > kMaxKnownElements) return std::nullopt;
  return PartialValue{value->dtype, Shape(*dims),
                      std::vector<KnownElement>(static_cast<size_t>(n), value->elements[0])};
}

}  // namespace

Output fill(const ShapeInput& dims, const Input& value, const NameOptions& options) {
  const Output sizes = resolve("Fill", dims);
  const Output element = resolve("Fill", value);
  return Graph::current()
      .add_node("Fill", {sizes, element}, {{"T", element.dtype()}, {"index_type", sizes.dtype()}},
                value.where(), options.name)
      ->output();
}

Output zeros(const ShapeInput& shape, DType dtype, std::string_view name) {
  const WhereScope where(shape.input().where());
  return fill(shape, Tensor::zeros(dtype, {}), {.name = std::string(name)});
}

Output ones(const ShapeInput& shape, DType dtype, std::string_view name) {
  const WhereScope where(shape.input().where());
  return fill(shape, Tensor::full(dtype, {}, 1), {.name = std::string(name)});
}

namespace ops {
extern const OpDef op_fill{
    .name = "Fill",
    .doc = "A scalar at every element of a shape.",
    .inputs = "dims: index_type, value: T",
    .outputs = "output: T",
    .infer = infer_fill,
    .lower = lower_fill,
    .gradient = fill_gradient,
    .constant_rule = fill_elements,
    .traits = {.moves_elements = true, .costs_no_memory = true},
};
}  // namespace ops
}  // namespace systole
