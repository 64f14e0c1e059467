// The product at the heart of dot_general and convolution.
#pragma once

#include "systole/base/tensor.h"

namespace systole::hlo {

// What products of elements of `dtype` are summed in, to be rounded or wrapped to the result's type
// once, at the end: f32 for f16 and bf16, s64 for integers and pred, else the type itself; f64 and
// c128 for a result of that type.
DType accumulation_dtype(DType dtype, DType result);

// c[m,n] = a[m,k] b[k,n], row-major; summed over k one after the other, in order. `a` and `b` have
// one accumulation dtype.
Tensor matmul(const Tensor& a, const Tensor& b);

}  // namespace systole::hlo
