#include "systole/graph/api/math_ops.h"
#include "systole/graph/testing/math_op_cases.h"

namespace systole::graph_testing {

std::vector<OpCase> math_error_cases() {
  const Tensor f23 = Tensor::zeros(DType::f32, {2, 3});
  const Tensor f4 = Tensor::zeros(DType::f32, {4});
  const Tensor f45 = Tensor::zeros(DType::f32, {4, 5});
  const Tensor s3 = Tensor::zeros(DType::s32, {3});
  const Tensor flags = Tensor::zeros(DType::pred, {3});
  const auto row = [](std::string name, BuildFn build, std::vector<Tensor> inputs,
                      std::string error) {
    return OpCase{.name = "error_" + std::move(name),
                  .build = std::move(build),
                  .inputs = std::move(inputs),
                  .error = std::move(error)};
  };
  return {
      row(
          "add_shapes", [](auto& x) { return add(x[0], x[1]); }, {f23, f4},
          "Add: shapes, got [2,3] and [4], expected shapes that broadcast, node 'Add' at "
          "math_error_cases.cc:"),
      row(
          "operator_shapes", [](auto& x) { return x[0] * x[1]; }, {f23, f4},
          "Mul: shapes, got [2,3] and [4], expected shapes that broadcast, node 'mul' at "
          "math_error_cases.cc:"),
      row(
          "add_dtypes", [](auto& x) { return x[0] + x[1]; }, {f23, s3},
          "Add: dtypes, got f32[2,3] and s32[3], expected equal ones"),
      row(
          "add_pred", [](auto& x) { return x[0] + x[0]; }, {flags},
          "Add: dtype, got pred, expected a floating or integer one"),
      row(
          "literal", [](auto& x) { return x[0] * 0.5; }, {s3},
          "Mul: literal, got 0.5, expected a value of s32, at math_error_cases.cc:"),
      row(
          "literal_too_large", [](auto& x) { return cast(x[0], DType::s8) + 300; }, {s3},
          "Add: literal, got 300, expected a value of s8, at math_error_cases.cc:"),
      row(
          "exp_dtype", [](auto& x) { return exp(x[0]); }, {s3},
          "Exp: dtype, got s32, expected a floating one"),
      row(
          "gelu_dtype", [](auto& x) { return gelu(x[0]); }, {s3},
          "Gelu: dtype, got s32, expected a floating one, at math_error_cases.cc:"),
      row(
          "negative_unsigned", [](auto& x) { return -cast(x[0], DType::u8); }, {s3},
          "Neg: dtype, got u8, expected a floating or signed integer one"),
      row(
          "truncatediv_floating", [](auto& x) { return truncatediv(x[0], x[0]); }, {f4},
          "TruncateDiv: dtype, got f32, expected an integer one"),
      row(
          "truediv_dtypes", [](auto& x) { return x[0] / x[1]; },
          {s3, Tensor::zeros(DType::s64, {3})},
          "truediv: dtypes, got s32[3] and s64[3], expected equal ones, at math_error_cases.cc:"),
      row(
          "add_n_empty", [](auto&) { return add_n(std::vector<Output>()); }, {f4},
          "AddN: inputs, got none, expected at least one"),
      row(
          "add_n_shapes", [](auto& x) { return add_n(x); }, {f23, f4},
          "AddN: shapes, got [2,3] and [4], expected equal ones"),
      row(
          "logical_and_dtype", [](auto& x) { return logical_and(x[0], x[0]); }, {s3},
          "LogicalAnd: dtype, got s32, expected pred"),
      row(
          "where_condition", [](auto& x) { return where(x[0], x[1], x[1]); }, {s3, f23},
          "dtype of condition, got s32, expected pred"),
      row(
          "where_shapes", [](auto& x) { return where(x[0], x[1], x[1]); }, {flags, f45},
          "SelectV2: shapes, got [3] and [4,5], expected shapes that broadcast"),
      row(
          "clip_by_value_shape", [](auto& x) { return clip_by_value(x[0], x[1], 1.0); },
          {Tensor::zeros(DType::f32, {3}), f23},
          "clip_by_value: shapes of the limits, got [2,3] after broadcasting, expected [3], at "
          "math_error_cases.cc:"),
      row(
          "matmul_inner", [](auto& x) { return matmul(x[0], x[1]); }, {f23, f45},
          "MatMul: shapes, got [2,3] and [4,5], expected equal inner sizes (3 and 4), node "
          "'MatMul' at "
          "math_error_cases.cc:"),
      row(
          "matmul_inner_transposed",
          [](auto& x) { return matmul(x[0], x[1], {.transpose_a = true}); }, {f23, f45},
          "MatMul: shapes, got [2,3] transposed and [4,5], expected equal inner sizes (2 and 4)"),
      row(
          "matmul_rank", [](auto& x) { return matmul(x[0], x[1]); }, {f23, f4},
          "MatMul: shapes, got [2,3] and [4], expected rank 2"),
      row(
          "matmul_dtypes", [](auto& x) { return matmul(x[0], cast(x[0], DType::bf16)); }, {f23},
          "MatMul: dtypes, got f32[2,3] and bf16[2,3], expected equal ones"),
      row(
          "batch_matmul_batches", [](auto& x) { return matmul(x[0], x[1]); },
          {Tensor::zeros(DType::f32, {2, 3, 4}), Tensor::zeros(DType::f32, {3, 4, 5})},
          "BatchMatMulV2: shapes, got [2] and [3], expected shapes that broadcast"),
      row(
          "tensordot_sizes", [](auto& x) { return tensordot(x[0], x[1], 1); }, {f23, f45},
          "Tensordot: shapes, got [2,3] and [4,5], expected equal sizes of axes 1 and 0, at "
          "math_error_cases.cc:"),
      row(
          "tensordot_axes", [](auto& x) { return tensordot(x[0], x[1], 3); }, {f23, f45},
          "Tensordot: axes, got 3, expected at most the ranks, 2 and 2"),
      row(
          "einsum_operands", [](auto& x) { return einsum("ij,jk,kl->il", x); }, {f23, f45},
          "einsum: operands of 'ij,jk,kl->il', got 2, expected 3, at math_error_cases.cc:"),
      row(
          "einsum_sizes", [](auto& x) { return einsum("ij,jk->ik", x); }, {f23, f45},
          "Einsum: shapes, got [2,3] and [4,5], expected equal sizes for equal labels, node "
          "'einsum' at "
          "math_error_cases.cc:"),
      row(
          "einsum_rank", [](auto& x) { return einsum("ij,jk->ik", x); }, {f23, f4},
          "einsum: equation 'ij,jk->ik', rank of the operand 'jk', got 1, expected 2, at "
          "math_error_cases.cc:"),
      row(
          "einsum_diagonal", [](auto& x) { return einsum("ii->i", x); }, {f23},
          "einsum: equation 'ii->i', got 'i' twice in one operand, expected it once"),
      row(
          "einsum_result", [](auto& x) { return einsum("ij->k", x); }, {f23},
          "einsum: equation 'ij->k', got 'k' in the result alone, expected it in an operand too"),
      row(
          "einsum_letters", [](auto& x) { return einsum("i1->i", x); }, {f23},
          "einsum: equation 'i1->i', got '1', expected letters and '...'"),
      row(
          "reduce_axis", [](auto& x) { return reduce_sum(x[0], {.axis = 2}); }, {f23},
          "Sum: axis, got 2, expected in [-2, 2), node 'Sum' at math_error_cases.cc:"),
      row(
          "reduce_axis_twice",
          [](auto& x) {
            return reduce_max(x[0], {.axis = {1, -1}});
          },
          {f23}, "Max: axes, got 1 twice, expected each once"),
      row(
          "reduce_any_dtype", [](auto& x) { return reduce_any(x[0]); }, {f23},
          "Any: dtype, got f32, expected pred"),
      row(
          "argmax_empty", [](auto& x) { return argmax(x[0], {.axis = 1}); },
          {Tensor(DType::f32, {2, 0})},
          "ArgMax: axis 1 of [2,0], got no elements, expected at least one"),
      row(
          "argmax_index", [](auto& x) { return argmax(x[0], {.output_type = DType::f32}); }, {f4},
          "ArgMax: output_type, got f32, expected s32 or s64"),
      row(
          "cumsum_axis", [](auto& x) { return cumsum(x[0], {.axis = 5}); }, {f4},
          "Cumsum: axis, got 5, expected in [-1, 1)"),
      row(
          "global_norm_empty", [](auto&) { return global_norm({Output()}); }, {f4},
          "global_norm: tensors, got none, expected at least one"),
  };
}

}  // namespace systole::graph_testing
