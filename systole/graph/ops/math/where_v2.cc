#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/math/elementwise.h"
#include "systole/graph/ops/string/string_common.h"

namespace systole {
namespace {

std::vector<TensorType> infer_where_v2(const InferContext& c) {
  const TensorType& x = c.input(1);
  const TensorType& y = c.input(2);
  check_dtype("dtype of condition", c.input(0).dtype, DTypeClass::boolean);
  check_any_or_string("dtype", x.dtype);
  if (x.dtype != y.dtype) {
    throw invalid_argument("dtypes of x and y, got {} and {}, expected equal ones", x.dtype,
                           y.dtype);
  }
  return {{x.dtype, broadcast_shapes(c.input(0).shape, broadcast_shapes(x.shape, y.shape))}};
}

std::vector<hlo::Value> lower_where_v2(LowerContext& c) {
  const Shape values = broadcast_shapes(c.input(1).shape(), c.input(2).shape());
  const Shape shape = broadcast_shapes(c.input(0).shape(), values);
  return {c.b.select(c.b.broadcast(c.input(0), shape), c.b.broadcast(c.input(1), shape),
                     c.b.broadcast(c.input(2), shape))};
}

std::vector<Output> where_v2_gradient(GradientContext& c) {
  const Output condition = c.input(0);
  return {Output(), sum_to_shape_of(where_v2(condition, c.grad(), 0), c.input(1)),
          sum_to_shape_of(where_v2(condition, 0, c.grad()), c.input(2))};
}

}  // namespace

Output where_v2(const Input& condition, const Input& x, const Input& y,
                const NameOptions& options) {
  const DType dtype = common_dtype({x, y});
  return Graph::current()
      .add_node("SelectV2",
                {resolve("SelectV2", condition), resolve("SelectV2", x, dtype),
                 resolve("SelectV2", y, dtype)},
                {{"T", dtype}}, condition.where(), options.name)
      ->output();
}

namespace ops {
extern const OpDef op_where_v2{
    .name = "SelectV2",
    .doc = "x where the condition holds, else y; all three broadcast.",
    .inputs = "condition: bool, t: T, e: T",
    .outputs = "output: T",
    .infer = infer_where_v2,
    .lower = lower_where_v2,
    .gradient = where_v2_gradient,
    .batch = {.rule = batch_elementwise},
    .traits = {.moves_elements = true},
};
}  // namespace ops
}  // namespace systole
