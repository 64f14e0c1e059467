// What MatMul and BatchMatMulV2 have in common.
#pragma once

#include <vector>

#include "systole/graph/core/op_def.h"

namespace systole {

// [.., n, k] x [.., k, m] -> [.., n, m], leading axes broadcast; the flags say that the last two
// axes of an operand are the other way round.
std::vector<TensorType> infer_matrix_product(const InferContext& c, bool transpose_x,
                                             bool transpose_y);
hlo::Value lower_matrix_product(LowerContext& c, bool transpose_x, bool transpose_y);

// The gradients of product(x, y, transpose_x, transpose_y) by x and y, before broadcasting is
// undone.
using MatrixProduct = Output (*)(Output x, Output y, bool transpose_x, bool transpose_y);
std::vector<Output> matrix_product_gradients(GradientContext& c, bool transpose_x, bool transpose_y,
                                             MatrixProduct product);

}  // namespace systole
