// Sorting with the positions that elements had.
#pragma once

#include "systole/hlo/ir/builder.h"

namespace systole {

struct SortedElements {
  hlo::Value elements;
  hlo::Value positions;  // s32, of the elements in x along the axis
};

// Sorts x along an axis, stably. `is_before(b, left, right)` builds the comparison of two elements,
// a pred scalar.
template <class IsBefore>
SortedElements sort_with_positions(hlo::Builder& b, hlo::Value x, int axis,
                                   const IsBefore& is_before) {
  const hlo::Value positions = b.iota({DType::s32, x.shape()}, axis);
  const auto fill = [&](hlo::Instruction& sort) {
    hlo::Computation& region = sort.add_region();
    hlo::Builder inner(region);
    const hlo::Value left = region.add_parameter({x.dtype(), {}});
    const hlo::Value right = region.add_parameter({x.dtype(), {}});
    region.add_parameter({DType::s32, {}});
    region.add_parameter({DType::s32, {}});
    region.set_results({is_before(inner, left, right)});
  };
  hlo::Instruction* const sorted =
      b.op_with_regions(hlo::Opcode::sort, {x, positions},
                        hlo::SortAttrs{.dimension = axis, .is_stable = true}, fill);
  return {sorted->result(0), sorted->result(1)};
}

}  // namespace systole
