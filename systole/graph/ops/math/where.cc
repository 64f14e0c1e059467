#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/core/where_scope.h"
#include "systole/graph/ops/math/elementwise.h"
#include "systole/graph/ops/string/string_common.h"

namespace systole {
namespace {

// A vector that chooses among the rows of x and y.
bool chooses_rows(const Shape& condition, const Shape& x) {
  return condition.rank() == 1 && x.rank() > 1;
}

void check_condition(const Shape& condition, const Shape& x) {
  const bool rows =
      chooses_rows(condition, x) && Shape({condition[0]}).compatible_with(Shape({x[0]}));
  if (condition.rank() == 0 || rows || condition.compatible_with(x)) return;
  throw invalid_argument("shape of condition, got {}, expected {}, [] or [{}]", condition, x,
                         x.rank() == 0 ? 1 : x[0]);
}

std::vector<TensorType> infer_where(const InferContext& c) {
  const TensorType& x = c.input(1);
  const TensorType& y = c.input(2);
  check_dtype("dtype of condition", c.input(0).dtype, DTypeClass::boolean);
  if (x.dtype != y.dtype || !x.shape.compatible_with(y.shape)) {
    throw invalid_argument("x and y, got {} and {}, expected equal types", x, y);
  }
  check_any_or_string("dtype", x.dtype);
  check_condition(c.input(0).shape, x.shape);
  return {{x.dtype, broadcast_shapes(x.shape, y.shape)}};
}

std::vector<hlo::Value> lower_where(LowerContext& c) {
  const hlo::Value x = c.input(1);
  hlo::Value condition = c.input(0);
  check_condition(condition.shape(), x.shape());
  condition = chooses_rows(condition.shape(), x.shape())
                  ? c.b.broadcast_in_dim(condition, x.shape(), {0})
                  : c.b.broadcast(condition, x.shape());
  return {c.b.select(condition, x, c.input(2))};
}

std::vector<Output> where_gradient(GradientContext& c) {
  const auto select = [&](const Output& x, const Output& y) {
    return Graph::current().add_node("Select", {c.input(0), x, y}, {{"T", x.dtype()}})->output();
  };
  const Output zeros = zeros_like(c.grad());
  return {Output(), select(c.grad(), zeros), select(zeros, c.grad())};
}

// Whether x and y, which are no literals, have one shape for sure, and the condition one that
// Select takes.
bool is_select(const Shape& condition, const Shape& x, const Shape& y) {
  if (x != y) return false;
  return condition.rank() == 0 || condition == x ||
         (chooses_rows(condition, x) && (condition[0] == x[0] || condition[0] == kUnknown));
}

}  // namespace

Output where(const Input& condition, const Input& x, const Input& y, const NameOptions& options) {
  const DType dtype = common_dtype({x, y});
  const std::vector<Output> values{resolve("Select", condition), resolve("Select", x, dtype),
                                   resolve("Select", y, dtype)};
  if (!is_select(values[0].shape(), values[1].shape(), values[2].shape())) {
    const WhereScope scope(condition.where());
    return where_v2(values[0], values[1], values[2], options);
  }
  return Graph::current()
      .add_node("Select", values, {{"T", dtype}}, condition.where(), options.name)
      ->output();
}

namespace ops {
extern const OpDef op_where{
    .name = "Select",
    .doc = "x where the condition holds, else y, of one shape; a vector condition chooses rows.",
    .inputs = "condition: bool, t: T, e: T",
    .outputs = "output: T",
    .infer = infer_where,
    .lower = lower_where,
    .gradient = where_gradient,
    .batch = {.rule = batch_all_inputs},
    .traits = {.moves_elements = true},
};
}  // namespace ops
}  // namespace systole
