// Mathematics on tensors: elementwise functions, comparisons, reductions, products, clipping.
//
// Names, argument names, defaults and broadcasting are TensorFlow's (tf.* and tf.nn.*). What holds
// for all:
//   * Two-operand functions broadcast as NumPy does and want equal dtypes; a literal takes the
//   other operand's.
//   * A dimension may be unknown; results carry it on.
//   * Errors, when building: INVALID_ARGUMENT names the op, the offending shapes or dtypes, the
//   node and the user's
//     line.
//   * Gradients follow TensorFlow where it makes a choice; where TensorFlow's give NaN for no
//   reason, ours do not.
//   * f16 and bf16 are computed in f32 and rounded; sums of them accumulate in f32.
// "Floating" is f16, bf16, f32, f64; "numbers" are floating, s8..s64 and u8..u64.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "systole/graph/core/axes.h"
#include "systole/graph/core/graph.h"
#include "systole/graph/core/op_options.h"

namespace systole {

// -- Arithmetic. Numbers, unless said otherwise.

Output add(const Input& x, const Input& y, const NameOptions& options = {});
Output subtract(const Input& x, const Input& y, const NameOptions& options = {});
Output multiply(const Input& x, const Input& y, const NameOptions& options = {});
// x / y as Python 3 writes it: 8- and 16-bit integers are divided as f32, wider ones as f64.
// `divide` is the same.
Output truediv(const Input& x, const Input& y, const NameOptions& options = {});
Output divide(const Input& x, const Input& y, const NameOptions& options = {});
// x / y of floating operands. (tf.realdiv)
Output realdiv(const Input& x, const Input& y, const NameOptions& options = {});
// The quotient rounded down. No gradient. This and the next four, for integers: a run in which a
// divisor is 0 fails with INVALID_ARGUMENT "Integer division by zero".
Output floordiv(const Input& x, const Input& y, const NameOptions& options = {});
// What floordiv leaves, with y's sign: floordiv(x, y) * y + floormod(x, y) == x. `mod` is the same.
Output floormod(const Input& x, const Input& y, const NameOptions& options = {});
Output mod(const Input& x, const Input& y, const NameOptions& options = {});
// Integers only: the quotient rounded towards zero. No gradient.
Output truncatediv(const Input& x, const Input& y, const NameOptions& options = {});
// What truncatediv leaves, with x's sign; of floating operands C's fmod.
Output truncatemod(const Input& x, const Input& y, const NameOptions& options = {});
// x to the power of y. Integers: a run with an exponent below 0 fails with INVALID_ARGUMENT. The
// gradient for y is 0 where x <= 0.
Output pow(const Input& x, const Input& y, const NameOptions& options = {});
// (x - y)^2
Output squared_difference(const Input& x, const Input& y, const NameOptions& options = {});
// NaN when either operand is. The gradient goes to x where they are equal.
Output maximum(const Input& x, const Input& y, const NameOptions& options = {});
Output minimum(const Input& x, const Input& y, const NameOptions& options = {});
// The sum of tensors of one shape and dtype. Errors: INVALID_ARGUMENT when there are none.
Output add_n(const InputList& inputs, const NameOptions& options = {});

// -- Elementwise functions of signed numbers.

Output negative(const Input& x, const NameOptions& options = {});
Output abs(const Input& x, const NameOptions& options = {});   // its gradient at 0 is 0
Output sign(const Input& x, const NameOptions& options = {});  // -1, 0, 1; NaN stays

// -- Elementwise functions of numbers.

Output square(const Input& x, const NameOptions& options = {});
Output relu(const Input& features,
            const NameOptions& options = {});  // max(x, 0); its gradient at 0 is 0
Output relu6(const Input& features, const NameOptions& options = {});  // min(max(x, 0), 6)
// To the nearest integer, halves to the even one; of integers x itself. No gradient.
Output round(const Input& x, const NameOptions& options = {});

// -- Elementwise functions of floating operands.

Output exp(const Input& x, const NameOptions& options = {});
Output expm1(const Input& x, const NameOptions& options = {});  // exp(x) - 1, exact near 0
Output log(const Input& x, const NameOptions& options = {});
Output log1p(const Input& x, const NameOptions& options = {});  // log(1 + x), exact near 0
Output sqrt(const Input& x, const NameOptions& options = {});
Output rsqrt(const Input& x, const NameOptions& options = {});  // 1 / sqrt(x)
Output reciprocal(const Input& x, const NameOptions& options = {});
Output sin(const Input& x, const NameOptions& options = {});
Output cos(const Input& x, const NameOptions& options = {});
Output tan(const Input& x, const NameOptions& options = {});
Output tanh(const Input& x, const NameOptions& options = {});
Output sigmoid(const Input& x, const NameOptions& options = {});  // 1 / (1 + exp(-x))
Output erf(const Input& x, const NameOptions& options = {});
Output floor(const Input& x, const NameOptions& options = {});       // no gradient
Output ceil(const Input& x, const NameOptions& options = {});        // no gradient
Output elu(const Input& features, const NameOptions& options = {});  // x > 0 ? x : exp(x) - 1
Output softplus(const Input& features,
                const NameOptions& options = {});  // log(1 + exp(x)), never overflows
Output softsign(const Input& features, const NameOptions& options = {});  // x / (1 + |x|)
// scale * (x > 0 ? x : alpha * (exp(x) - 1)) with the constants of Klambauer et al.,
// "Self-Normalizing Neural Networks", 2017.
Output selu(const Input& features, const NameOptions& options = {});

struct LeakyReluOptions {
  double alpha = 0.2;
  std::string name = {};
};
// x > 0 ? x : alpha * x
Output leaky_relu(const Input& features, const LeakyReluOptions& options = {});

struct GeluOptions {
  bool approximate = false;  // the form with tanh
  std::string name = {};
};
// x times the standard normal distribution function of x. Hendrycks and Gimpel, 2016.
Output gelu(const Input& features, const GeluOptions& options = {});

// floating -> pred
Output is_finite(const Input& x, const NameOptions& options = {});
Output is_nan(const Input& x, const NameOptions& options = {});
Output is_inf(const Input& x, const NameOptions& options = {});

// -- Comparisons: numbers -> pred; equal and not_equal take pred too. Comparing with NaN is false,
// but for not_equal.

Output equal(const Input& x, const Input& y, const NameOptions& options = {});
Output not_equal(const Input& x, const Input& y, const NameOptions& options = {});
Output less(const Input& x, const Input& y, const NameOptions& options = {});
Output less_equal(const Input& x, const Input& y, const NameOptions& options = {});
Output greater(const Input& x, const Input& y, const NameOptions& options = {});
Output greater_equal(const Input& x, const Input& y, const NameOptions& options = {});

// -- Logic on pred.

Output logical_and(const Input& x, const Input& y, const NameOptions& options = {});
Output logical_or(const Input& x, const Input& y, const NameOptions& options = {});
Output logical_xor(const Input& x, const Input& y, const NameOptions& options = {});
Output logical_not(const Input& x, const NameOptions& options = {});

// -- Choice.

// x where `condition`, else y; any dtype. As TensorFlow 1's where when x and y have one shape: the
// condition has it too, is a scalar, or is a vector that chooses among the rows of x and y. In all
// other cases where_v2.
Output where(const Input& condition, const Input& x, const Input& y,
             const NameOptions& options = {});
// x where `condition`, else y; all three broadcast.
Output where_v2(const Input& condition, const Input& x, const Input& y,
                const NameOptions& options = {});
// t with what lies below `clip_value_min` or above `clip_value_max` (they broadcast to t's shape)
// set to these.
Output clip_by_value(const Input& t, const Input& clip_value_min, const Input& clip_value_max,
                     const NameOptions& options = {});

// -- Conversion between any two of floating, integer and pred. Floating to integer truncates,
// saturates, and gives 0 for NaN; between integers the low bits are kept; to pred is x != 0. x
// itself when it has that dtype.

Output cast(const Input& x, DType dtype, const NameOptions& options = {});
Output to_float(const Input& x, const NameOptions& options = {});
Output to_double(const Input& x, const NameOptions& options = {});
Output to_bfloat16(const Input& x, const NameOptions& options = {});
Output to_int32(const Input& x, const NameOptions& options = {});
Output to_int64(const Input& x, const NameOptions& options = {});

// -- Products. Numbers.

struct MatMulOptions {
  bool transpose_a = false;
  bool transpose_b = false;
  std::string name = {};
};
// [.., n, k] x [.., k, m] -> [.., n, m]; the leading axes are batches and broadcast. The options
// say that the last two axes of an operand are the other way round. Both operands have rank 2 or
// more.
Output matmul(const Input& a, const Input& b, const MatMulOptions& options = {});

struct BatchMatMulOptions {
  bool adj_x = false;
  bool adj_y = false;
  std::string name = {};
};
// What matmul is for operands of rank above 2. (BatchMatMulV2)
Output batch_matmul(const Input& x, const Input& y, const BatchMatMulOptions& options = {});

// The axes that tensordot sums over: the last n of a with the first n of b, or the i-th of `a` with
// the i-th of `b`.
struct TensordotAxes {
  TensordotAxes(int n) : count(n) {}  // NOLINT(google-explicit-constructor): tensordot(a, b, 1)
  TensordotAxes(std::vector<int64_t> a_axes, std::vector<int64_t> b_axes)
      : a(std::move(a_axes)), b(std::move(b_axes)) {}

  int count = -1;  // -1: the lists hold
  std::vector<int64_t> a;
  std::vector<int64_t> b;
};
// The sum of products over pairs of axes; the result has a's other axes, then b's. tensordot(a, b,
// {{1}, {0}}) is matmul.
Output tensordot(const Input& a, const Input& b, const TensordotAxes& axes,
                 const NameOptions& options = {});

// Sums of products by Einstein's convention, "ij,jk->ik": any number of operands, a label at most
// once in each; "..." stands for leading axes, which broadcast. Without "->" the result has, in
// alphabetical order, the labels that are there once. Errors: INVALID_ARGUMENT names the equation;
// UNIMPLEMENTED for a label twice in one operand.
Output einsum(std::string_view equation, const InputList& inputs, const NameOptions& options = {});

// -- Reductions over `axis` (all axes when left out); `keepdims` leaves axes of size 1 in place of
// them.

struct ReduceOptions {
  Axes axis = {};
  bool keepdims = false;
  std::string name = {};
};
// Numbers. An empty sum is 0, an empty product 1.
Output reduce_sum(const Input& input_tensor, const ReduceOptions& options = {});
// The gradient is right where elements are 0 (a second derivative there may not be).
Output reduce_prod(const Input& input_tensor, const ReduceOptions& options = {});
// The mean of integers is an integer, rounded towards zero, as in TensorFlow: cast first for
// another. An empty mean is NaN.
Output reduce_mean(const Input& input_tensor, const ReduceOptions& options = {});
// NaN when any element is. An empty one is -inf or +inf, of integers the lowest or highest.
// Elements that tie share the gradient equally.
Output reduce_max(const Input& input_tensor, const ReduceOptions& options = {});
Output reduce_min(const Input& input_tensor, const ReduceOptions& options = {});
// pred.
Output reduce_any(const Input& input_tensor, const ReduceOptions& options = {});
Output reduce_all(const Input& input_tensor, const ReduceOptions& options = {});
// Floating. log(sum(exp(x))) without overflow; -inf where all are -inf.
Output reduce_logsumexp(const Input& input_tensor, const ReduceOptions& options = {});
// Floating. The mean of squared distances from the mean, and its root.
Output reduce_variance(const Input& input_tensor, const ReduceOptions& options = {});
Output reduce_std(const Input& input_tensor, const ReduceOptions& options = {});

struct ArgOptions {
  int64_t axis = 0;
  DType output_type = DType::s64;  // or s32
  std::string name = {};
};
// The index of the largest or smallest element along `axis`, the lowest when several tie; the first
// NaN's when there is one. Numbers; the axis is not empty. No gradient.
Output argmax(const Input& input, const ArgOptions& options = {});
Output argmin(const Input& input, const ArgOptions& options = {});

struct CumsumOptions {
  int64_t axis = 0;
  bool exclusive = false;  // without the element itself: the first result is 0
  bool reverse = false;    // from the end
  std::string name = {};
};
// Running sums along an axis. Numbers.
Output cumsum(const Input& x, const CumsumOptions& options = {});

// -- Norms and clipping. Floating.

// Half the sum of squares. (tf.nn.l2_loss)
Output l2_loss(const Input& t, const NameOptions& options = {});
// The Euclidean norm of all elements of all tensors; invalid Outputs (gradients that are not there)
// are left out. Errors: INVALID_ARGUMENT when nothing is left.
Output global_norm(const std::vector<Output>& t_list, const NameOptions& options = {});

struct ClipByNormOptions {
  Axes axes = {};  // each slice over these axes has a norm of its own
  std::string name = {};
};
// t scaled down to norm `clip_norm` where it is longer.
Output clip_by_norm(const Input& t, const Input& clip_norm, const ClipByNormOptions& options = {});
// t scaled down so that its norm divided by its number of elements is at most `clip_norm`.
Output clip_by_average_norm(const Input& t, const Input& clip_norm,
                            const NameOptions& options = {});

struct ClipByGlobalNormOptions {
  Output use_norm = {};  // the global norm when it is known already
  std::string name = {};
};
// All tensors scaled by one factor so that their global norm is at most `clip_norm`, and that norm
// before it. Invalid Outputs stay. All results are NaN when the norm is not finite.
std::pair<std::vector<Output>, Output> clip_by_global_norm(
    const std::vector<Output>& t_list, const Input& clip_norm,
    const ClipByGlobalNormOptions& options = {});

// -- Operators. At least one operand is an Output or a Variable. == and != compare handles: use
// equal().

Output operator+(const Input& x, const Input& y);
Output operator-(const Input& x, const Input& y);
Output operator*(const Input& x, const Input& y);
Output operator/(const Input& x, const Input& y);  // truediv
Output operator%(const Input& x, const Input& y);  // floormod
Output operator-(const Input& x);
Output operator<(const Input& x, const Input& y);
Output operator<=(const Input& x, const Input& y);
Output operator>(const Input& x, const Input& y);
Output operator>=(const Input& x, const Input& y);

// TensorFlow's second names.
namespace nn {
using systole::elu;
using systole::gelu;
using systole::l2_loss;
using systole::leaky_relu;
using systole::relu;
using systole::relu6;
using systole::selu;
using systole::sigmoid;
using systole::softplus;
using systole::softsign;
using systole::tanh;
}  // namespace nn

}  // namespace systole
