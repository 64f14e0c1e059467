#include "systole/base/error.h"
#include "systole/stablehlo/chlo/chlo.h"

namespace systole::hlo::chlo::ops {
namespace {

// (a, b, i, j) -> a > b. Floating types use the total order, which includes NaN.
void fill_descending(Instruction& sort, DType dtype) {
  Computation& region = sort.add_region();
  const Value a = region.add_parameter({dtype, {}});
  const Value b = region.add_parameter({dtype, {}});
  region.add_parameter({DType::s32, {}});
  region.add_parameter({DType::s32, {}});
  const CompareAttrs greater{ComparisonDirection::gt, is_floating(dtype)
                                                          ? ComparisonType::totalorder
                                                          : ComparisonType::notype};
  region.set_results({Builder(region).op(Opcode::compare, {a, b}, greater)->result()});
}

// The k largest elements of each row in descending order, and their positions (s32). Of equal
// elements the first comes first.
std::vector<Value> top_k(Builder& b, std::span<const Value> operands, const Attrs& attrs,
                         std::span<const TensorType>) {
  if (operands.size() != 1) {
    throw invalid_argument("chlo.top_k: operands, got {}, expected 1", operands.size());
  }
  const Value x = operands[0];
  const int last = x.shape().rank() - 1;
  if (last < 0 || attrs.k < 0 || attrs.k > x.shape()[last]) {
    throw invalid_argument(
        "chlo.top_k: k, got {} for an operand of {}, expected at most the size of its last axis",
        attrs.k, x.type());
  }
  const Value positions = b.iota({DType::s32, x.shape()}, last);
  Instruction* const sorted = b.op_with_regions(
      Opcode::sort, {x, positions}, SortAttrs{.dimension = last, .is_stable = true},
      [&](Instruction& sort) { fill_descending(sort, x.dtype()); });
  Dims limit = x.shape().dims();
  limit[last] = attrs.k;
  const Dims start(limit.size(), 0);
  return {b.slice(sorted->result(0), start, limit), b.slice(sorted->result(1), start, limit)};
}

}  // namespace

extern const Expand top_k_expansion = top_k;

}  // namespace systole::hlo::chlo::ops
