#include "systole/graph/api/math_ops.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {
namespace {

// What several descriptions of one shape say together.
Shape merge_shapes(const Shape& x, const Shape& y) {
  if (!x.compatible_with(y))
    throw invalid_argument("shapes, got {} and {}, expected equal ones", x, y);
  Shape result = x;
  for (int i = 0; i < x.rank(); ++i) {
    if (x[i] == kUnknown) result.set_dim(i, y[i]);
  }
  return result;
}

std::vector<TensorType> infer_add_n(const InferContext& c) {
  if (c.num_inputs() == 0) throw invalid_argument("inputs, got none, expected at least one");
  TensorType result = infer_unary(c, DTypeClass::number)[0];
  for (int i = 1; i < c.num_inputs(); ++i) {
    if (c.input(i).dtype != result.dtype) {
      throw invalid_argument("dtypes, got {} and {}, expected equal ones", result.dtype,
                             c.input(i).dtype);
    }
    result.shape = merge_shapes(result.shape, c.input(i).shape);
  }
  return {result};
}

std::vector<hlo::Value> lower_add_n(LowerContext& c) {
  hlo::Value sum = c.input(0);
  for (int i = 1; i < c.num_inputs(); ++i) sum = c.b.add(sum, c.input(i));
  return {sum};
}

std::vector<Output> add_n_gradient(GradientContext& c) {
  return std::vector<Output>(static_cast<size_t>(c.node.num_inputs()), c.grad());
}

}  // namespace

Output add_n(const InputList& inputs, const NameOptions& options) {
  const std::vector<Output> values = inputs.resolve();
  if (values.empty()) throw invalid_argument("AddN: inputs, got none, expected at least one");
  AttrMap attrs{{"N", static_cast<int64_t>(values.size())}, {"T", values[0].dtype()}};
  return Graph::current()
      .add_node("AddN", values, std::move(attrs), inputs.inputs()[0].where(), options.name)
      ->output();
}

namespace ops {
extern const OpDef op_add_n{
    .name = "AddN",
    .doc = "The sum of tensors of one shape.",
    .inputs = "inputs: N * T",
    .outputs = "sum: T",
    .infer = infer_add_n,
    .lower = lower_add_n,
    .gradient = add_n_gradient,
};
}  // namespace ops
}  // namespace systole
