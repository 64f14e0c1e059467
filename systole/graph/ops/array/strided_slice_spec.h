// The arithmetic of strided slices: masks, negative positions and strides.
#pragma once

#include <cstdint>
#include <span>

#include "systole/base/shape.h"

namespace systole {

// TensorFlow's five bit masks over the entries of begin, end and strides.
struct SliceMasks {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t ellipsis = 0;
  int64_t new_axis = 0;
  int64_t shrink_axis = 0;
};

// A strided slice in terms of HLO: reverse `reversed`, slice by start, limit and (positive) stride
// to `sliced`, and reshape to `result`. Where the input's size is unknown, sizes are, and start and
// limit mean nothing.
struct SliceSpec {
  Dims reversed;
  Dims start;
  Dims limit;
  Dims stride;
  Shape sliced;
  Shape result;
};

// Errors: INVALID_ARGUMENT: more entries than axes, two ellipses, a stride of 0, a shrunk position
// out of range.
SliceSpec slice_spec(const Shape& input, std::span<const int64_t> begin,
                     std::span<const int64_t> end, std::span<const int64_t> strides,
                     const SliceMasks& masks);

}  // namespace systole
