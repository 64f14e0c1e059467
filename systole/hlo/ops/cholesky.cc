#include <algorithm>
#include <cmath>
#include <complex>

#include "systole/base/error.h"
#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/checks.h"
#include "systole/hlo/semantics/conjugate.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_cholesky(const InferContext& context) {
  const TensorType& a = context.operand(0);
  const int rank = a.shape.rank();
  if (!is_floating(a.dtype) && !is_complex(a.dtype)) {  // I1
    throw invalid_argument("cholesky: element type, got {}, expected floating-point or complex",
                           a.dtype);
  }
  if (rank < 2 || a.shape[rank - 2] != a.shape[rank - 1]) {  // C2, C3
    throw invalid_argument("cholesky: shape of a, got {}, expected square matrices", a.shape);
  }
  return {a};  // C1
}

// l l^H = a, row by row, from the lower triangle of the n x n matrix `a`. NaN if `a` is not
// positive definite.
template <class T>
void factorize(std::span<T> a, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      T sum = a[i * n + j];
      for (size_t k = 0; k < j; ++k) sum -= a[i * n + k] * conjugate(a[j * n + k]);
      a[i * n + j] = i == j ? T(std::sqrt(std::real(sum))) : sum / a[j * n + j];
    }
  }
}

// The element on the other side of the diagonal.
template <class T>
void clear_triangle(std::span<T> a, size_t n, bool upper) {
  for (size_t i = 0; i < n; ++i) {
    a[i * n + i] = T(std::real(a[i * n + i]));
    for (size_t j = 0; j < i; ++j) (upper ? a[j * n + i] : a[i * n + j]) = T();
  }
}

template <class T>
void conjugate_transpose(std::span<T> a, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    a[i * n + i] = conjugate(a[i * n + i]);
    for (size_t j = 0; j < i; ++j) {
      const T lower = a[i * n + j];
      a[i * n + j] = conjugate(a[j * n + i]);
      a[j * n + i] = conjugate(lower);
    }
  }
}

// Computed in f64 or c128 and rounded once. The other triangle is zero.
std::vector<Tensor> evaluate_cholesky(const Instruction& instruction,
                                      std::span<const Tensor> operands, const Evaluator&) {
  const DType dtype = instruction.dtype();
  const bool lower = instruction.attrs<CholeskyAttrs>().lower;
  Tensor result = operands[0].cast(is_complex(dtype) ? DType::c128 : DType::f64).clone();
  const auto n = static_cast<size_t>(result.dim(result.rank() - 1));
  const auto factorize_all = [&]<class T>() {
    const std::span<T> elements = result.data<T>();
    for (size_t first = 0; first < elements.size(); first += n * n) {
      const std::span<T> matrix = elements.subspan(first, n * n);
      if (!lower) conjugate_transpose(matrix, n);
      factorize(matrix, n);
      if (!lower) conjugate_transpose(matrix, n);
      clear_triangle(matrix, n, lower);
    }
  };
  if (is_complex(dtype)) {
    factorize_all.operator()<std::complex<double>>();
  } else {
    factorize_all.operator()<double>();
  }
  return {result.cast(dtype)};
}

}  // namespace

extern const OpSemantics cholesky_semantics{
    .infer = infer_cholesky,
    .evaluate = evaluate_cholesky,
    .format = AssemblyFormat{"$*?(, lower = <lower>)", TypeForm::same},
    .example =
        OpExample{
            .parameters = "%a: tensor<2x2x$T>",
            .results = "tensor<2x2x$T>",
            .body =
                R"(%r = "stablehlo.cholesky"(%a) {lower = true} : (tensor<2x2x$T>) -> tensor<2x2x$T>)"},
    .quantized = OpQuantization{.form = QuantizedForm::real},
    .vectorize = replicas::vectorize_same_attrs,
    .shard = spmd::shard_cholesky};

}  // namespace systole::hlo::ops
