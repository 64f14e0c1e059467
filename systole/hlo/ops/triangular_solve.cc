#include <complex>

#include "systole/base/error.h"
#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/checks.h"
#include "systole/hlo/semantics/conjugate.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_triangular_solve(const InferContext& context) {
  const TensorType& a = context.operand(0);
  const TensorType& b = context.operand(1);
  const auto& attrs = context.get<TriangularSolveAttrs>();
  const int rank = a.shape.rank();
  if (!is_floating(a.dtype) && !is_complex(a.dtype)) {  // I1
    throw invalid_argument(
        "triangular_solve: element type, got {}, expected floating-point or complex", a.dtype);
  }
  check_dtype(context.opcode, "b", b.dtype, a.dtype);                                  // C1
  if (rank < 2 || b.shape.rank() != rank || a.shape[rank - 2] != a.shape[rank - 1]) {  // C2, C3
    throw invalid_argument(
        "triangular_solve: shapes, got {} and {}, expected square matrices and as many axes",
        a.shape, b.shape);
  }
  Shape expected = b.shape;  // C3
  for (int axis = 0; axis < rank - 2; ++axis) expected.set_dim(axis, a.shape[axis]);
  expected.set_dim(attrs.left_side ? rank - 2 : rank - 1, a.shape[rank - 1]);
  check_shape(context.opcode, "b", b.shape, expected);
  if (attrs.transpose_a == Transpose::transpose_invalid) {  // I6
    throw invalid_argument(
        "triangular_solve: transpose_a, got TRANSPOSE_INVALID, expected one such as NO_TRANSPOSE");
  }
  return {b};  // C4
}

// Solves c x = b for one column x, in place of b. c(i, j) returns element (i, j) of the n x n
// triangle.
template <class T, class Matrix>
void substitute(Matrix&& c, bool lower, bool unit_diagonal, std::span<T> x) {
  const size_t n = x.size();
  for (size_t step = 0; step < n; ++step) {
    const size_t i = lower ? step : n - 1 - step;
    for (size_t done = 0; done < step; ++done) {
      const size_t j = lower ? done : n - 1 - done;
      x[i] -= c(i, j) * x[j];
    }
    if (!unit_diagonal) x[i] /= c(i, i);
  }
}

// One pair of matrices. x op(a) = b is solved as op(a)^T x^T = b^T.
template <class T>
void solve(const TriangularSolveAttrs& attrs, std::span<const T> a, size_t n, std::span<T> b) {
  const bool transposed = (attrs.transpose_a == Transpose::no_transpose) != attrs.left_side;
  const auto c = [&](size_t i, size_t j) {
    const T element = transposed ? a[j * n + i] : a[i * n + j];
    return attrs.transpose_a == Transpose::adjoint ? conjugate(element) : element;
  };
  const size_t num_columns = b.size() / n;
  std::vector<T> x(n);
  for (size_t k = 0; k < num_columns; ++k) {
    const auto place = [&](size_t i) { return attrs.left_side ? i * num_columns + k : k * n + i; };
    for (size_t i = 0; i < n; ++i) x[i] = b[place(i)];
    substitute<T>(c, attrs.lower != transposed, attrs.unit_diagonal, x);
    for (size_t i = 0; i < n; ++i) b[place(i)] = x[i];
  }
}

// Computed in f64 or c128 and rounded once.
std::vector<Tensor> evaluate_triangular_solve(const Instruction& instruction,
                                              std::span<const Tensor> operands, const Evaluator&) {
  const DType dtype = instruction.dtype();
  const DType wide = is_complex(dtype) ? DType::c128 : DType::f64;
  const Tensor a = operands[0].cast(wide);
  Tensor b = operands[1].cast(wide).clone();
  const int64_t n = a.dim(a.rank() - 1);
  if (b.num_elements() == 0) return {operands[1]};
  const auto solve_all = [&]<class T>() {
    const auto matrix = static_cast<size_t>(n * n);
    const size_t count = a.data<T>().size() / matrix;
    const size_t columns = b.data<T>().size() / count;
    for (size_t i = 0; i < count; ++i) {
      solve<T>(instruction.attrs<TriangularSolveAttrs>(), a.data<T>().subspan(i * matrix, matrix),
               static_cast<size_t>(n), b.data<T>().subspan(i * columns, columns));
    }
  };
  if (is_complex(dtype)) {
    solve_all.operator()<std::complex<double>>();
  } else {
    solve_all.operator()<double>();
  }
  return {b.cast(dtype)};
}

}  // namespace

extern const OpSemantics triangular_solve_semantics{
    .infer = infer_triangular_solve,
    .evaluate = evaluate_triangular_solve,
    .example =
        OpExample{
            .parameters = "%a: tensor<2x2x$T>, %b: tensor<2x3x$T>",
            .results = "tensor<2x3x$T>",
            .body =
                R"(%r = "stablehlo.triangular_solve"(%a, %b) {left_side = true, lower = true, unit_diagonal = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<2x2x$T>, tensor<2x3x$T>) -> tensor<2x3x$T>)"},
    .quantized = OpQuantization{.form = QuantizedForm::real},
    .vectorize = replicas::vectorize_same_attrs,
    .shard = spmd::shard_triangular_solve};

}  // namespace systole::hlo::ops
