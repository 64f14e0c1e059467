#include "systole/graph/ops/math/elementwise.h"

namespace systole {

std::vector<TensorType> infer_unary(const InferContext& c, DTypeClass dtypes) {
  check_dtype("dtype", c.input(0).dtype, dtypes);
  return {c.input(0)};
}

std::vector<TensorType> infer_binary(const InferContext& c, DTypeClass dtypes, DType result) {
  const TensorType& x = c.input(0);
  const TensorType& y = c.input(1);
  if (x.dtype != y.dtype) {
    throw invalid_argument("dtypes, got {} and {}, expected equal ones", x, y);
  }
  check_dtype("dtype", x.dtype, dtypes);
  return {{result == DType::invalid ? x.dtype : result, broadcast_shapes(x.shape, y.shape)}};
}

std::vector<hlo::Value> lower_unary(LowerContext& c, hlo::Opcode opcode) {
  return {c.b.unary(opcode, c.input(0))};
}

std::vector<hlo::Value> lower_binary(LowerContext& c, hlo::Opcode opcode) {
  const auto [x, y] = broadcast_operands(c);
  return {c.b.binary(opcode, x, y)};
}

std::vector<hlo::Value> lower_comparison(LowerContext& c, hlo::ComparisonDirection direction) {
  const auto [x, y] = broadcast_operands(c);
  return {c.b.compare(x, y, direction)};
}

hlo::Value compare_with(hlo::Builder& b, hlo::Value x, hlo::ComparisonDirection direction,
                        double value) {
  return b.compare(x, b.splat_like(x, value), direction);
}

}  // namespace systole
