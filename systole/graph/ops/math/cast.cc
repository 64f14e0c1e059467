#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/core/constant_value.h"
#include "systole/graph/gradients/indexed_slices.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {
namespace {

std::vector<TensorType> infer_cast(const InferContext& c) {
  check_dtype("dtype of x", c.input(0).dtype, DTypeClass::any);
  const DType to = c.attr<DType>("DstT");
  check_dtype("dtype", to, DTypeClass::any);
  return {{to, c.input(0).shape}};
}

std::vector<hlo::Value> lower_cast(LowerContext& c) {
  return {c.b.convert(c.input(0), c.attr<DType>("DstT"))};
}

std::vector<Output> cast_gradient(GradientContext& c) {
  const DType from = c.input(0).dtype();
  if (!is_floating(from)) return {Output()};
  return {map_values(c.grad(), [&](const Output& grad) { return cast(grad, from); })};
}

}  // namespace

Output cast(const Input& x, DType dtype, const NameOptions& options) {
  const Output value = resolve("Cast", x);
  if (value.dtype() == dtype) return value;
  return Graph::current()
      .add_node("Cast", {value}, {{"SrcT", value.dtype()}, {"DstT", dtype}, {"Truncate", false}},
                x.where(), options.name)
      ->output();
}

namespace ops {
extern const OpDef op_cast{
    .name = "Cast",
    .doc = "x as another dtype.",
    .inputs = "x: SrcT",
    .outputs = "y: DstT",
    .attrs = "DstT: type, Truncate: bool = false",
    .infer = infer_cast,
    .lower = lower_cast,
    .gradient = cast_gradient,
    .constant_rule = same_elements,
    .batch = {.rule = batch_elementwise},
};
}  // namespace ops
}  // namespace systole
