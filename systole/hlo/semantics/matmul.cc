#include "systole/hlo/semantics/matmul.h"

#include <algorithm>
#include <type_traits>

#include "systole/base/error.h"

namespace systole::hlo {
namespace {

// Works row by row of b, so that the inner loop is contiguous, and on four rows at a time, to load
// and store c less often.
template <class T>
void multiply_rows(const T* a, const T* b, T* c, int64_t k, int64_t n) {
  int64_t i = 0;
  for (; i + 4 <= k; i += 4) {
    const T* const b0 = b + i * n;
    const T* const b1 = b0 + n;
    const T* const b2 = b1 + n;
    const T* const b3 = b2 + n;
    for (int64_t j = 0; j < n; ++j) {
      c[j] = c[j] + a[i] * b0[j] + a[i + 1] * b1[j] + a[i + 2] * b2[j] + a[i + 3] * b3[j];
    }
  }
  for (; i < k; ++i) {
    for (int64_t j = 0; j < n; ++j) c[j] += a[i] * b[i * n + j];
  }
}

template <class T>
void multiply(const Tensor& a, const Tensor& b, Tensor& c) {
  const int64_t k = a.dim(1);
  const int64_t n = b.dim(1);
  for (int64_t row = 0; row < a.dim(0); ++row) {
    multiply_rows(static_cast<const T*>(a.raw()) + row * k, static_cast<const T*>(b.raw()),
                  static_cast<T*>(c.raw()) + row * n, k, n);
  }
}

}  // namespace

DType accumulation_dtype(DType dtype, DType result) {
  if (is_complex(dtype)) return result == DType::c128 ? result : dtype;
  if (!is_floating(dtype)) return DType::s64;
  return dtype == DType::f64 || result == DType::f64 ? DType::f64 : DType::f32;
}

Tensor matmul(const Tensor& a, const Tensor& b) {
  Tensor c = Tensor::zeros(a.dtype(), {a.dim(0), b.dim(1)});
  switch (a.dtype()) {
    case DType::f32:
      multiply<float>(a, b, c);
      break;
    case DType::f64:
      multiply<double>(a, b, c);
      break;
    case DType::c64:
      multiply<std::complex<float>>(a, b, c);
      break;
    case DType::c128:
      multiply<std::complex<double>>(a, b, c);
      break;
    case DType::s64:
      multiply<uint64_t>(a, b, c);
      break;  // without sign, so that overflow wraps
    default:
      throw internal_error("matmul: dtype, got {}, expected f32, f64, c64, c128 or s64", a.dtype());
  }
  return c;
}

}  // namespace systole::hlo
