// What is known of a tensor's value while the graph is built: constants, and integer arithmetic on
// shapes.
#pragma once

#include <optional>
#include <vector>

#include "systole/graph/api/graph.h"

namespace systole {

// An integer scalar or vector of which some elements are known.
struct PartialValue {
  DType dtype = DType::s32;
  Shape shape;  // static, rank 0 or 1
  std::vector<std::optional<int64_t>> elements;

  bool known() const;
  Tensor tensor() const;  // REQUIRES: known()
};

// nullopt when not even the number of elements is known. Follows Const, Shape, Rank, Size,
// Identity, Cast, Pack, Unpack,
// ConcatV2, StridedSlice, Slice, GatherV2, Reshape, ExpandDims, Squeeze,
// Fill, Range, Prod, Sum and arithmetic, and a function's captures to the graph around it; up to
// 1,000 nodes deep.
std::optional<PartialValue> partial_value(Output value);

// The whole value: of any dtype when it is a constant, else of a partial value that is all known.
std::optional<Tensor> constant_value(Output value);

// The value outside for one that a function captured, as far out as it goes; `value` itself
// otherwise.
Output resolve_capture(Output value);

}  // namespace systole
