#include "systole/graph/lowering/rows.h"
#include "systole/graph/lowering/sort_positions.h"
#include "systole/graph/ops/array/array_common.h"

namespace systole {
namespace {

std::vector<TensorType> infer_unique(const InferContext& c) {
  const TensorType& x = c.input(0);
  if (x.shape.rank() != 1 || !is_integer(x.dtype) || !dtype_info(x.dtype).is_signed) {
    throw invalid_argument("x, got {}, expected a vector of signed integers", x);
  }
  const DType position = c.attr<DType>("out_idx");
  return {x, {position, x.shape}};
}

// In each place the largest of all up to it. REQUIRES: no element is below 0.
hlo::Value running_maximum(hlo::Builder& b, hlo::Value x) {
  const hlo::Value zero = b.scalar(x.dtype(), 0);
  const int64_t size = x.shape()[0];
  for (int64_t length = 1; length < size; length *= 2) {
    x = b.maximum(x, b.pad(x, zero, {length}, {-length}));
  }
  return x;
}

// For each element the position of the first that equals it. A stable sort brings equal ones
// together, the first one at their head.
hlo::Value first_positions(hlo::Builder& b, hlo::Value x) {
  const int64_t size = x.shape()[0];
  const TensorType positions{DType::s32, x.shape()};
  const hlo::Value iota = b.iota(positions, 0);
  const auto is_less = [](hlo::Builder& inner, hlo::Value left, hlo::Value right) {
    return inner.compare(left, right, hlo::ComparisonDirection::lt);
  };
  const auto [elements, places] = sort_with_positions(b, x, 0, is_less);
  const hlo::Value differ =
      b.compare(b.slice(elements, {1}, {size}), b.slice(elements, {0}, {size - 1}),
                hlo::ComparisonDirection::ne);
  const hlo::Value heads =
      b.select(b.pad(differ, b.scalar(DType::pred, 1), {1}, {0}), iota, b.splat(positions, 0));
  const hlo::Value first = gather_rows(b, places, running_maximum(b, heads));
  return replace_rows(b, b.splat(positions, 0), places, first);
}

std::vector<hlo::Value> lower_unique(LowerContext& c) {
  hlo::Builder& b = c.b;
  const hlo::Value x = c.input(0);
  const DType position = c.attr<DType>("out_idx");
  if (x.shape()[0] == 0) return {x, b.splat({position, x.shape()}, 0)};
  const hlo::Value first = first_positions(b, x);
  const hlo::Value is_first =
      b.compare(first, b.iota(first.type(), 0), hlo::ComparisonDirection::eq);
  return {b.select(is_first, x, b.splat_like(x, -1)), b.convert(first, position)};
}

}  // namespace

namespace ops {
extern const OpDef op_unique{
    .name = "Unique",
    .doc =
        "Each element once, in its first place; -1 in the places of the others. The places that "
        "elements have there. (TensorFlow's result has no other places. What adds up rows by the "
        "places and goes on with the elements is the same with both.)",
    .inputs = "x: T",
    .outputs = "y: T, idx: out_idx",
    .attrs = "out_idx: type = int32",
    .graph_def = {.tensorflow = TensorFlowOp::other},
    .infer = infer_unique,
    .lower = lower_unique,
    .traits = {.blocks_gradient = true},
};
}  // namespace ops
}  // namespace systole
