#include "systole/graph/ops/math/matrix_product.h"

#include <utility>

#include "systole/graph/core/dtype_class.h"
#include "systole/graph/lowering/broadcast.h"

namespace systole {
namespace {

// An operand's sizes: leading axes, then the free and the contracted one.
struct MatrixOperand {
  Shape batch;
  int64_t free;
  int64_t contracted;
};

MatrixOperand operand(const Shape& shape, bool free_first) {
  const int rank = shape.rank();
  Dims batch(shape.begin(), shape.end() - 2);
  return {Shape(std::move(batch)), shape[free_first ? rank - 2 : rank - 1],
          shape[free_first ? rank - 1 : rank - 2]};
}

void check_operands(const Shape& x, const Shape& y, bool transpose_x, bool transpose_y) {
  const auto rule = [](bool transposed) { return transposed ? " transposed" : ""; };
  if (x.rank() < 2 || y.rank() < 2) {
    throw invalid_argument("shapes, got {} and {}, expected ranks of 2 or more", x, y);
  }
  const int64_t k = operand(x, !transpose_x).contracted;
  const int64_t l = operand(y, transpose_y).contracted;
  if (k == l || k == kUnknown || l == kUnknown) return;
  throw invalid_argument("shapes, got {}{} and {}{}, expected equal inner sizes ({} and {})", x,
                         rule(transpose_x), y, rule(transpose_y), k, l);
}

Dims leading(int count) {
  Dims dims;
  for (int i = 0; i < count; ++i) dims.push_back(i);
  return dims;
}

hlo::Value broadcast_batch(hlo::Builder& b, hlo::Value x, const Shape& batch) {
  Dims dims = batch.dims();
  dims.push_back(x.shape()[x.shape().rank() - 2]);
  dims.push_back(x.shape()[x.shape().rank() - 1]);
  return b.broadcast(x, Shape(std::move(dims)));
}

}  // namespace

std::vector<TensorType> infer_matrix_product(const InferContext& c, bool transpose_x,
                                             bool transpose_y) {
  const TensorType& x = c.input(0);
  const TensorType& y = c.input(1);
  if (x.dtype != y.dtype)
    throw invalid_argument("dtypes, got {} and {}, expected equal ones", x, y);
  check_dtype("dtype", x.dtype, DTypeClass::number);
  check_operands(x.shape, y.shape, transpose_x, transpose_y);
  const MatrixOperand left = operand(x.shape, !transpose_x);
  const MatrixOperand right = operand(y.shape, transpose_y);
  Dims dims = broadcast_shapes(left.batch, right.batch).dims();
  dims.push_back(left.free);
  dims.push_back(right.free);
  return {{x.dtype, Shape(std::move(dims))}};
}

hlo::Value lower_matrix_product(LowerContext& c, bool transpose_x, bool transpose_y) {
  hlo::Value x = c.input(0);
  hlo::Value y = c.input(1);
  hlo::DotAttrs attrs;
  try {
    check_operands(x.shape(), y.shape(), transpose_x, transpose_y);
    const Shape batch =
        broadcast_shapes(operand(x.shape(), true).batch, operand(y.shape(), true).batch);
    // One matrix for all batches: the batch axes are further rows of x, and nothing is copied.
    if (y.shape().rank() > 2) {
      x = broadcast_batch(c.b, x, batch);
      y = broadcast_batch(c.b, y, batch);
      attrs.lhs_batching_dimensions = attrs.rhs_batching_dimensions = leading(batch.rank());
    }
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}: {}", c.node.op_name(), error.message()));
  }
  const int x_rank = x.shape().rank();
  const int y_rank = y.shape().rank();
  attrs.lhs_contracting_dimensions = {transpose_x ? x_rank - 2 : x_rank - 1};
  attrs.rhs_contracting_dimensions = {transpose_y ? y_rank - 1 : y_rank - 2};
  return c.b.dot_general(x, y, std::move(attrs));
}

std::vector<Output> matrix_product_gradients(GradientContext& c, bool transpose_x, bool transpose_y,
                                             MatrixProduct product) {
  const Output x = c.input(0);
  const Output y = c.input(1);
  const Output g = c.grad();
  return {transpose_x ? product(y, g, transpose_y, true) : product(g, y, false, !transpose_y),
          transpose_y ? product(g, x, true, transpose_x) : product(x, g, !transpose_x, false)};
}

}  // namespace systole
