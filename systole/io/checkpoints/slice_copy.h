// Copying of slices of tensors.
#pragma once

#include <string_view>

#include "systole/io/checkpoints/tensor_bundle.h"

namespace systole {

// Errors: DATA_LOSS that starts with `what`, unless `slice` lies in a tensor of `shape`.
void check_slice(std::string_view what, const Shape& shape, const TensorSlice& slice);

// Returns the shape of a slice. REQUIRES: check_slice.
Shape slice_shape(const Shape& full, const TensorSlice& slice);

Tensor copy_slice(const Tensor& whole, const TensorSlice& slice);
// REQUIRES: `part` has the shape of `slice` and the dtype of `whole`.
void copy_into_slice(const Tensor& part, const TensorSlice& slice, Tensor& whole);

}  // namespace systole
