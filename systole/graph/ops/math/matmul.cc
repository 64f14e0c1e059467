#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/core/where_scope.h"
#include "systole/graph/ops/math/matrix_product.h"

namespace systole {
namespace {

std::vector<TensorType> infer_matmul(const InferContext& c) {
  for (int i = 0; i < 2; ++i) {
    if (c.input(i).shape.rank() == 2) continue;
    throw invalid_argument("shapes, got {} and {}, expected rank 2", c.input(0).shape,
                           c.input(1).shape);
  }
  return infer_matrix_product(c, c.attr<bool>("transpose_a"), c.attr<bool>("transpose_b"));
}

std::vector<hlo::Value> lower_matmul(LowerContext& c) {
  return {lower_matrix_product(c, c.attr<bool>("transpose_a"), c.attr<bool>("transpose_b"))};
}

std::vector<Output> matmul_gradient(GradientContext& c) {
  return matrix_product_gradients(c, c.attr<bool>("transpose_a"), c.attr<bool>("transpose_b"),
                                  [](Output x, Output y, bool transpose_x, bool transpose_y) {
                                    return matmul(x, y, {transpose_x, transpose_y});
                                  });
}

}  // namespace

Output matmul(const Input& a, const Input& b, const MatMulOptions& options) {
  const std::vector<Output> operands = resolve("MatMul", {a, b}, common_dtype({a, b}));
  if (operands[0].shape().rank() > 2 || operands[1].shape().rank() > 2) {
    const WhereScope scope(a.where());
    return batch_matmul(operands[0], operands[1],
                        {options.transpose_a, options.transpose_b, options.name});
  }
  return Graph::current()
      .add_node("MatMul", operands,
                {{"T", operands[0].dtype()},
                 {"transpose_a", options.transpose_a},
                 {"transpose_b", options.transpose_b}},
                a.where(), options.name)
      ->output();
}

namespace ops {
extern const OpDef op_matmul{
    .name = "MatMul",
    .doc = "The product of two matrices, either of them transposed first.",
    .inputs = "a: T, b: T",
    .outputs = "product: T",
    .attrs = "transpose_a: bool = false, transpose_b: bool = false",
    .infer = infer_matmul,
    .lower = lower_matmul,
    .gradient = matmul_gradient,
};
}  // namespace ops
}  // namespace systole
