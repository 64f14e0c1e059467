// The matrix product that dot_general and convolution use.
#pragma once

#include "systole/base/tensor.h"

namespace systole::hlo {

// Returns the dtype in which products of `dtype` are summed, before one rounding or wrapping to
// `result`: f32 for f16 and bf16, s64 for integers and pred, otherwise `dtype`. For results of f64
// and c128 it is that type.
DType accumulation_dtype(DType dtype, DType result);

// Returns c[m,n] = a[m,k] b[k,n], row-major, summed over k in order. `a` and `b` have the same
// accumulation dtype.
Tensor matmul(const Tensor& a, const Tensor& b);

}  // namespace systole::hlo
