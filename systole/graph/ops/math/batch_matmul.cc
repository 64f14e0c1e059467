#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/lowering/broadcast.h"
#include "systole/graph/ops/math/matrix_product.h"

namespace systole {
namespace {

std::vector<TensorType> infer_batch_matmul(const InferContext& c) {
  return infer_matrix_product(c, c.attr<bool>("adj_x"), c.attr<bool>("adj_y"));
}

std::vector<hlo::Value> lower_batch_matmul(LowerContext& c) {
  return {lower_matrix_product(c, c.attr<bool>("adj_x"), c.attr<bool>("adj_y"))};
}

// One matrix y for all batches of x: its gradient sums over the batches in the product.
Output gradient_of_matrix(GradientContext& c) {
  std::string batch;
  for (int i = 0; i < c.input(0).shape().rank() - 2; ++i) batch += static_cast<char>('A' + i);
  const std::string x = batch + (c.attr<bool>("adj_x") ? "kn" : "nk");
  const std::string y = c.attr<bool>("adj_y") ? "mk" : "km";
  return einsum(x + "," + batch + "nm->" + y, {c.input(0), c.grad()});
}

std::vector<Output> batch_matmul_gradient(GradientContext& c) {
  const std::vector<Output> full =
      matrix_product_gradients(c, c.attr<bool>("adj_x"), c.attr<bool>("adj_y"),
                               [](Output x, Output y, bool adj_x, bool adj_y) {
                                 return batch_matmul(x, y, {adj_x, adj_y});
                               });
  const bool one_matrix = c.input(1).shape().rank() == 2 && c.input(0).shape().rank() < 28;
  return broadcast_gradients(c, full[0], one_matrix ? gradient_of_matrix(c) : full[1]);
}

}  // namespace

Output batch_matmul(const Input& x, const Input& y, const BatchMatMulOptions& options) {
  return add_op("BatchMatMulV2", {x, y}, options.name,
                {{"adj_x", options.adj_x}, {"adj_y", options.adj_y}});
}

namespace ops {
extern const OpDef op_batch_matmul{
    .name = "BatchMatMulV2",
    .doc = "Products of the matrices in the last two axes; leading axes broadcast.",
    .inputs = "x: T, y: T",
    .outputs = "output: T",
    .attrs = "adj_x: bool = false, adj_y: bool = false",
    .graph_def = {.aliases = "BatchMatMul"},
    .infer = infer_batch_matmul,
    .lower = lower_batch_matmul,
    .gradient = batch_matmul_gradient,
};
}  // namespace ops
}  // namespace systole
